// JSON whose integers are exact: an int64 travels as a bigint, in and out, and never as a double.

declare global {
  interface JSON {
    /** In V8 and in ECMAScript 2026; TypeScript's library does not know it yet. */
    rawJSON(text: string): unknown
  }
}

export const INT64_MIN = -(2n ** 63n)
export const INT64_MAX = 2n ** 63n - 1n

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|[^\s"{}[\]:,]+/g
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
const INT64_DIGITS = 19
const CANONICAL_INTEGER = /^(?:0|-?[1-9]\d{0,18})$/

/** Digits that a double may not hold, or that are no plain integer; in a name they only cost time. */
const NEEDS_DIGITS = /\d(?:[.eE]|\d{15})/

const MEMBER = { writable: true, enumerable: true, configurable: true }

type Container = { array: unknown[] } | { object: Record<string, unknown>; member: string | undefined }

/**
 * Parses like `JSON.parse`, except that a number whose exact value is an int64 becomes a `bigint`; any other
 * number stays a `number`. Throws a `SyntaxError` for malformed text.
 *
 * `JSON.parse` with a reviver would see the digits too, but recurses: 3,000 brackets overflow the stack. So the
 * text is checked by `JSON.parse` and then built from its tokens, on a stack of our own. What almost everyone sends, a
 * flat object with short integers, is exact as `JSON.parse` reads it.
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  return NEEDS_DIGITS.test(text) || !isFlatObject(value) ? build(text) : withBigInts(value)
}

function isFlatObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.values(value).every(member => typeof member !== 'object' || member === null)
}

function withBigInts(object: Record<string, unknown>): Record<string, unknown> {
  for (const name in object) {
    if (typeof object[name] === 'number') object[name] = BigInt(object[name])
  }
  return object
}

function build(text: string): unknown {
  const root: unknown[] = []
  let current: Container = { array: root }
  const enclosing: Container[] = []

  function add(value: unknown): void {
    if ('array' in current) current.array.push(value)
    else if (current.member !== undefined) {
      // Not by assignment, to which `__proto__` is no member.
      Object.defineProperty(current.object, current.member, { ...MEMBER, value })
      current.member = undefined
    }
  }

  function enter(container: Container, value: unknown): void {
    add(value)
    enclosing.push(current)
    current = container
  }

  for (const [token] of text.matchAll(TOKEN)) {
    switch (token[0]) {
      case '{': {
        const object = {}
        enter({ object, member: undefined }, object)
        break
      }
      case '[': {
        const array: unknown[] = []
        enter({ array }, array)
        break
      }
      case '}':
      case ']':
        current = enclosing.pop() ?? current
        break
      case ',':
      case ':':
        break
      case '"': {
        const string: string = JSON.parse(token)
        if ('object' in current && current.member === undefined) current.member = string
        else add(string)
        break
      }
      default:
        add(exactInteger(token) ?? JSON.parse(token))
    }
  }
  return root[0]
}

/** Renders like `JSON.stringify`, with every `bigint` as its exact digits. */
export function renderJson(value: unknown, indent?: number): string {
  return JSON.stringify(
    value,
    (_name, member) => (typeof member === 'bigint' ? JSON.rawJSON(member.toString()) : member),
    indent,
  )
}

/**
 * The int64 that a JSON number means, or undefined when its exact value is no int64. Looks at the digits alone,
 * so `1e999999999` and a number of 60,000 digits are judged without being expanded.
 */
export function exactInteger(source: string): bigint | undefined {
  const match = NUMBER.exec(source)
  if (!match) return undefined
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const digits = whole + fraction
  let first = 0
  let end = digits.length
  while (digits[first] === '0') first++
  while (end > first && digits[end - 1] === '0') end--
  if (first === end) return 0n
  const zeros = digits.length - end - fraction.length + Number(exponent)
  if (zeros < 0 || end - first + zeros > INT64_DIGITS) return undefined
  return withinInt64(BigInt(`${sign}${digits.slice(first, end)}${'0'.repeat(zeros)}`))
}

/** The int64 written in its one canonical decimal spelling: no sign but `-`, no leading zero, no `-0`. */
export function canonicalInteger(text: string): bigint | undefined {
  return CANONICAL_INTEGER.test(text) ? withinInt64(BigInt(text)) : undefined
}

function withinInt64(value: bigint): bigint | undefined {
  return value >= INT64_MIN && value <= INT64_MAX ? value : undefined
}
