// JSON with exact integers: an int64 is a `bigint` here, never a double.

declare global {
  interface JSON {
    // ECMAScript 2026, supported by V8. TypeScript's library does not declare these yet.
    rawJSON(text: string): unknown
    parse(
      text: string,
      reviver: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown
  }
}

export const INT64_MIN = -(2n ** 63n)
export const INT64_MAX = 2n ** 63n - 1n

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
const INT64_DIGITS = 19
const CANONICAL_INTEGER = /^(?:0|-?[1-9]\d{0,18})$/

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
/** The character code of a closing bracket or brace is that of the opening one plus this. */
const CLOSING = 2

/** Such as `\u0061`. */
const UNICODE_ESCAPE_LENGTH = 6

/** In other escapes, the character behind the backslash stands for itself. */
const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

const STRING = /"[^"\\\0-\x1f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\0-\x1f]*)*"/y
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/**
 * Parses a JSON object of which only the named members matter. Returns undefined for any other JSON value, and throws a
 * `SyntaxError` for the same texts as `JSON.parse`.
 *
 * A number becomes a `bigint` if its exact value is an int64, otherwise a double. An array or object becomes an empty
 * one. If a member is repeated, the last one counts, as in `JSON.parse`.
 *
 * The rest of the text is checked, but nothing is built from it: `JSON.parse` would take several times as long for 64
 * KiB of small objects.
 */
export function parseMembers<Name extends string>(
  text: string,
  names: readonly Name[],
): Partial<Record<Name, unknown>> | undefined {
  const start = skipSpace(text, 0)
  const startsObject = text.charCodeAt(start) === OPEN_BRACE
  const sources = new Map<Name, string>()
  const end = startsObject ? findMembers(text, start, names, sources) : endOfValue(text, start)
  const rest = skipSpace(text, end)
  if (rest < text.length) throw unexpected(rest)
  if (!startsObject) return undefined
  const members: Partial<Record<Name, unknown>> = {}
  for (const [name, source] of sources) members[name] = parseScalar(source)
  return members
}

/** Adds the text of each named member of the object that starts at `start`. Returns where the object ends. */
function findMembers<Name extends string>(
  text: string,
  start: number,
  names: readonly Name[],
  sources: Map<Name, string>,
): number {
  let at = skipSpace(text, start + 1)
  if (text.charCodeAt(at) === OPEN_BRACE + CLOSING) return at + 1
  for (;;) {
    const nameEnd = endOf(STRING, text, at)
    const name = findName(text, at, nameEnd, names)
    const valueAt = afterColon(text, nameEnd)
    const end = endOfValue(text, valueAt)
    if (name !== undefined) sources.set(name, text.slice(valueAt, end))
    at = skipSpace(text, end)
    if (text.charCodeAt(at) === OPEN_BRACE + CLOSING) return at + 1
    if (text.charCodeAt(at) !== COMMA) throw unexpected(at)
    at = skipSpace(text, at + 1)
  }
}

function findName<Name extends string>(
  text: string,
  start: number,
  end: number,
  names: readonly Name[],
): Name | undefined {
  for (const name of names) if (isName(text, start, end, name)) return name
  return undefined
}

/** Whether the string from `start` to `end` is this name. It may be written with escapes, such as `"n\u0061me"`. */
function isName(text: string, start: number, end: number, name: string): boolean {
  const length = end - start - 2
  if (length === name.length) return text.startsWith(name, start + 1)
  if (length < name.length || length > name.length * UNICODE_ESCAPE_LENGTH) return false
  let at = start + 1
  for (let index = 0; index < name.length; index++) {
    const isEscape = text.charCodeAt(at) === BACKSLASH
    if ((isEscape ? unescaped(text, at) : text[at]) !== name[index]) return false
    if (isEscape) at += text[at + 1] === 'u' ? UNICODE_ESCAPE_LENGTH : 2
    else at++
  }
  return at === end - 1
}

/** Returns the character that the escape at this position stands for. `JSON.parse` takes five times as long. */
function unescaped(text: string, at: number): string {
  const letter = text[at + 1] as string
  if (letter !== 'u') return ESCAPES[letter] ?? letter
  return String.fromCharCode(Number.parseInt(text.slice(at + 2, at + UNICODE_ESCAPE_LENGTH), 16))
}

/** The opening brackets and braces that are not closed yet. Kept between calls: growing takes most of the time. */
let open = new Uint8Array(1_024)

/** Returns where the value that starts at `start` ends. It does not recurse, so that nesting may be deep. */
function endOfValue(text: string, start: number): number {
  let depth = 0
  let at = start
  for (;;) {
    const code = text.charCodeAt(at)
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (depth === open.length) open = grown(open)
      open[depth++] = code
      at = skipSpace(text, at + 1)
      if (text.charCodeAt(at) !== code + CLOSING) {
        if (code === OPEN_BRACE) at = afterColon(text, endOf(STRING, text, at))
        continue
      }
    } else at = endOf(code === QUOTE ? STRING : SCALAR, text, at)
    for (;;) {
      if (depth === 0) return at
      const innermost = open[depth - 1] as number
      at = skipSpace(text, at)
      const next = text.charCodeAt(at)
      if (next === innermost + CLOSING) {
        depth--
        at++
      } else if (next === COMMA) {
        at = skipSpace(text, at + 1)
        if (innermost === OPEN_BRACE) at = afterColon(text, endOf(STRING, text, at))
        break
      } else throw unexpected(at)
    }
  }
}

function grown(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(2 * bytes.length)
  larger.set(bytes)
  return larger
}

function endOf(token: RegExp, text: string, at: number): number {
  token.lastIndex = at
  if (!token.test(text)) throw unexpected(at)
  return token.lastIndex
}

/** Returns where the value behind a name starts. */
function afterColon(text: string, nameEnd: number): number {
  const at = skipSpace(text, nameEnd)
  if (text.charCodeAt(at) !== COLON) throw unexpected(at)
  return skipSpace(text, at + 1)
}

function skipSpace(text: string, start: number): number {
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at
  }
}

function parseScalar(source: string): unknown {
  if (source.startsWith('[')) return []
  if (source.startsWith('{')) return {}
  // A string without escapes is parsed too, because a slice of the text would keep the whole text in memory.
  if (source.startsWith('"')) return JSON.parse(source)
  return canonicalInteger(source) ?? exactInteger(source) ?? JSON.parse(source)
}

function unexpected(at: number): SyntaxError {
  return new SyntaxError(`unexpected character at position ${at}`)
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
 * Returns the int64 that a JSON number represents, or undefined if its exact value is not an int64. It counts the
 * digits first, so `1e999999999` and a number of 60,000 digits are rejected without being expanded.
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

/** Parses an int64 in its one canonical decimal spelling: no `+`, no leading zero, no `-0`. */
export function canonicalInteger(text: string): bigint | undefined {
  return CANONICAL_INTEGER.test(text) ? withinInt64(BigInt(text)) : undefined
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function withinInt64(value: bigint): bigint | undefined {
  return value >= INT64_MIN && value <= INT64_MAX ? value : undefined
}
