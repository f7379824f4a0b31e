// JSON with exact integers: `JSON.parse` would round an id above 2^53.

export const INT64_MIN = -(2n ** 63n)
export const INT64_MAX = 2n ** 63n - 1n

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|[^\s"{}[\]:,]+/g
const INTEGER = /^(?:0|-?[1-9]\d{0,18})$/

const MEMBER = { writable: true, enumerable: true, configurable: true }

type Container = { array: unknown[] } | { object: Record<string, unknown>; member: string | undefined }

/**
 * Parses like `JSON.parse`, except that an int64 in its canonical spelling becomes a `bigint`. Any other number, such as
 * `1e3`, stays a `number`. Throws a `SyntaxError` for malformed text.
 *
 * The text is parsed twice: `JSON.parse` rejects malformed text, then the value is built from the tokens. A reviver
 * would be simpler, but not every supported runtime passes it the source text of a number.
 */
export function parseJson(text: string): unknown {
  JSON.parse(text)
  const root: unknown[] = []
  const enclosing: Container[] = []
  let current: Container = { array: root }

  function add(value: unknown): void {
    if ('array' in current) current.array.push(value)
    else if (current.member !== undefined) {
      // An assignment to `__proto__` would set the prototype instead of a member.
      Object.defineProperty(current.object, current.member, { ...MEMBER, value })
      current.member = undefined
    }
  }

  function open(container: Container, value: unknown): void {
    add(value)
    enclosing.push(current)
    current = container
  }

  for (const [token] of text.matchAll(TOKEN)) {
    switch (token[0]) {
      case '{': {
        const object: Record<string, unknown> = {}
        open({ object, member: undefined }, object)
        break
      }
      case '[': {
        const array: unknown[] = []
        open({ array }, array)
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
        add(parseInt64(token) ?? JSON.parse(token))
    }
  }
  return root[0]
}

/** Returns undefined for anything but an int64 in its canonical spelling: no `+`, no leading zero, no `-0`. */
export function parseInt64(text: string): bigint | undefined {
  if (!INTEGER.test(text)) return undefined
  const value = BigInt(text)
  return value >= INT64_MIN && value <= INT64_MAX ? value : undefined
}
