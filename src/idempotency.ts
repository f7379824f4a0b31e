// Idempotency: a retry of a request gets the first answer again, and nothing is stored twice (docs/decisions/idempotency.md).

import { hash } from 'node:crypto'

/** How long an idempotency key is valid. */
export const IDEMPOTENCY_WINDOW_HOURS = 24
export const IDEMPOTENCY_WINDOW_MS = IDEMPOTENCY_WINDOW_HOURS * 60 * 60 * 1000

/** Makes a retry of the same request get the first answer. */
export interface Idempotency {
  readonly scope: string
  readonly key: string
  /** The digest of the request (`requestDigest`). */
  readonly request: string
}

/**
 * Returns a digest of what a request asks for: its operation, and the values that it uses, always in the same order. Those that are
 * undefined do not count, so that the digest stays the same when a later version knows further ones.
 */
export function requestDigest(request: Readonly<Record<string, unknown>>): string {
  return hash(
    'sha256',
    JSON.stringify(request, (_name, value) => (typeof value === 'bigint' ? `${value}` : value)),
  )
}

/** What the database has stored for an idempotency key. */
export interface StoredAnswer {
  /** Null if version 1.1 has stored it, which knew only creations, and stored only the animal. */
  readonly request: string | null
  readonly id: bigint
  /** Null if the animal of version 1.1 is gone. */
  readonly answer: string | null
}
