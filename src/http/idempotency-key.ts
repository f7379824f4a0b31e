// The Idempotency-Key header: bare, or as a quoted string whose quotes do not count.

import { invalid } from '../error.ts'

const MAX_LENGTH = 255

const BARE = /^[!#-~]+$/
const QUOTED = /^"((?:[!#-[\]-~]|\\["\\])+)"$/

/** Two headers arrive joined by a comma and a space, and so are malformed like any key with a space. */
export function parseIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const quoted = QUOTED.exec(header)?.[1]
  const key = quoted === undefined ? header : quoted.replace(/\\(.)/g, '$1')
  if (key.length > MAX_LENGTH || (quoted === undefined && !BARE.test(header))) {
    throw invalid(
      `Idempotency-Key must be 1 to ${MAX_LENGTH} visible ASCII characters, without spaces, given once.`,
    )
  }
  return key
}
