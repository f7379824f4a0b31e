// Whole numbers as people type them: with a plus sign, leading zeros and spaces around, which change nothing.

import { canonicalInteger } from '../../int64.ts'

/** Tells whether the text is a whole number of any size. */
export function isInteger(text: string): boolean {
  return /^\s*[+-]?\d+\s*$/.test(text)
}

/** Returns undefined if the text is no whole number, or one that does not fit in 64 bits. */
export function parseInteger(text: string): bigint | undefined {
  return isInteger(text) ? canonicalInteger(String(BigInt(text.replace('+', '')))) : undefined
}
