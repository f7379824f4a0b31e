// The Idempotency-Key header: a bare key, or a quoted string whose quotes are not part of the key.

import { invalid } from '../../error.ts'

export const IDEMPOTENCY_KEY_MAX_LENGTH = 255

const BARE = `[!#-~]{1,${IDEMPOTENCY_KEY_MAX_LENGTH}}`
const QUOTED = `"(?:[!#-\\[\\]-~]|\\\\["\\\\]){1,${IDEMPOTENCY_KEY_MAX_LENGTH}}"`

export const IDEMPOTENCY_KEY_PATTERN = `^(?:${BARE}|${QUOTED})$`

const pattern = new RegExp(IDEMPOTENCY_KEY_PATTERN)

/** Takes all values of the header, joined with ', '. Two values are rejected, because no key contains a space. */
export function parseIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  if (!pattern.test(header)) {
    throw invalid(
      `Idempotency-Key must be 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} visible ASCII characters, without spaces, given once.`,
    )
  }
  return header.startsWith('"') ? header.slice(1, -1).replace(/\\(.)/g, '$1') : header
}
