// JSON with exact integers: `JSON.parse` would round an id above 2^53.

export const INT64_MIN = -(2n ** 63n)
export const INT64_MAX = 2n ** 63n - 1n

/** Strings, so that their digits are left alone, and numbers. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g
const INTEGER = /^(?:0|-?[1-9]\d{0,18})$/

/**
 * The counterpart of `toJson`: parses like `JSON.parse`, except that every int64 in its canonical spelling becomes a
 * `bigint`. Any other number, such as `1.5` or `1e3`, stays a `number`. Throws a `SyntaxError` for malformed text.
 *
 * The text is parsed twice, the second time with every number in quotes. A reviver would be simpler, but not every
 * supported runtime passes it the source text of a number.
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  const quoted = text.replace(STRING_OR_NUMBER, token => (token.startsWith('"') ? token : `"${token}"`))
  return withExactIntegers(value, JSON.parse(quoted))
}

/** `texts` has the same structure as the value, with the text of each number in its place. */
function withExactIntegers(value: unknown, texts: unknown): unknown {
  if (typeof value === 'number') return parseInt64(texts as string) ?? value
  if (typeof value !== 'object' || value === null) return value
  const textOf = texts as Record<string, unknown>
  if (Array.isArray(value)) return value.map((item, index) => withExactIntegers(item, textOf[index]))
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withExactIntegers(member, textOf[name])]),
  )
}

/**
 * Renders like `JSON.stringify`, except that a `bigint` becomes a number with exactly its digits. Takes what JSON can express:
 * animals, lists of them, and objects that contain them.
 */
export function toJson(value: unknown): string {
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${toJson(member)}`).join(',')}}`
}

/** Returns undefined for anything but an int64 in its canonical spelling: no `+`, no leading zero, no `-0`. */
export function parseInt64(text: string): bigint | undefined {
  if (!INTEGER.test(text)) return undefined
  const value = BigInt(text)
  return value >= INT64_MIN && value <= INT64_MAX ? value : undefined
}
