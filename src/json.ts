// JSON with exact integers: an int64 is a `bigint` here, never a double.

import { withinInt64 } from './int64.ts'

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

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
const INT64_DIGITS = 19

/** Strings, so that their digits are left alone, and numbers. The text must be well-formed JSON. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/** Parses JSON with every number as a string of its own characters: a double would lose digits of an int64. */
export function parseNumbersAsText(text: string): unknown {
  return JSON.parse(text.replace(STRING_OR_NUMBER, token => (token.startsWith('"') ? token : `"${token}"`)))
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

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
