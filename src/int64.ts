// Signed 64-bit integers, such as ids: their range, and their text.

export const INT64_MIN = -(2n ** 63n)
export const INT64_MAX = 2n ** 63n - 1n

const CANONICAL_INTEGER = /^(?:0|-?[1-9]\d{0,18})$/

/** Parses an int64 in its one canonical decimal spelling: no `+`, no leading zero, no `-0`. */
export function canonicalInteger(text: string): bigint | undefined {
  return CANONICAL_INTEGER.test(text) ? withinInt64(BigInt(text)) : undefined
}

export function withinInt64(value: bigint): bigint | undefined {
  return value >= INT64_MIN && value <= INT64_MAX ? value : undefined
}
