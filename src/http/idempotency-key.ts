// The Idempotency-Key header: bare, or as a quoted string whose quotes do not count.

import { invalid } from '../error.ts'

const MAX_LENGTH = 255

export const IDEMPOTENCY_KEY_PATTERN = `^(?:[!#-~]{1,${MAX_LENGTH}}|"(?:[!#-\\[\\]-~]|\\\\["\\\\]){1,${MAX_LENGTH}}")$`

const pattern = new RegExp(IDEMPOTENCY_KEY_PATTERN)

/** Two headers arrive joined by a comma and a space, and so are malformed like any key with a space. */
export function parseIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  if (!pattern.test(header)) {
    throw invalid(
      `Idempotency-Key must be 1 to ${MAX_LENGTH} visible ASCII characters, without spaces, given once.`,
    )
  }
  return header.startsWith('"') ? header.slice(1, -1).replace(/\\(.)/g, '$1') : header
}
