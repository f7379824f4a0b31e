// SQLite's result codes (https://www.sqlite.org/rescode.html): which of them mean a lock, and which an unavailable database.

import { setTimeout as delay } from 'node:timers/promises'
import { unavailable } from '../../error.ts'

/** Codes that mean an unavailable database. Any other, such as CONSTRAINT, means a bug in this program. */
const UNAVAILABLE = {
  BUSY: 5,
  LOCKED: 6,
  NOMEM: 7,
  READONLY: 8,
  INTERRUPT: 9,
  IOERR: 10,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  PROTOCOL: 15,
  SCHEMA: 17,
  NOTADB: 26,
}

/** All statements were valid when the file was opened, so another program has changed the schema since. */
const CHANGED_SCHEMA = /no such (table|column|index)|has no column named/

export const LOCK_TIMEOUT_MS = 2_000

/** Shorter than most transactions of other processes, so that all processes that write get their turn. */
const LOCK_INTERVAL_MS = 2

export function isLocked(error: unknown): boolean {
  return hasCode(error, UNAVAILABLE.BUSY, UNAVAILABLE.LOCKED)
}

export function isDamaged(error: unknown): boolean {
  return hasCode(error, UNAVAILABLE.CORRUPT, UNAVAILABLE.NOTADB)
}

export function isReadOnly(error: unknown): boolean {
  return hasCode(error, UNAVAILABLE.READONLY)
}

/** Another process may be creating or migrating the file, or deleting its WAL. */
export function isOpening(error: unknown): boolean {
  return isLocked(error) || hasCode(error, UNAVAILABLE.CANTOPEN)
}

/**
 * Returns `unavailable` if the error means that the database cannot be used, otherwise the error itself. SQLite has rolled back
 * the transaction, unless the disk failed during its commit.
 */
export function toServiceError(error: unknown): unknown {
  const isSchemaChanged = error instanceof Error && CHANGED_SCHEMA.test(error.message)
  if (!hasCode(error, ...Object.values(UNAVAILABLE)) && !isSchemaChanged) return error
  const cause = isDamaged(error)
    ? new Error('the database file is damaged: stop the service and restore a backup', { cause: error })
    : error
  return unavailable(cause, undefined, !hasCode(error, UNAVAILABLE.IOERR))
}

/** When an attempt that begins now gives up waiting for a lock. */
export function lockDeadline(): number {
  return performance.now() + LOCK_TIMEOUT_MS
}

/**
 * Retries while another process holds a lock, without blocking the thread. Rejects with `unavailable` if the database is
 * still locked at the deadline, or cannot be used.
 */
export async function retryWhileLocked<Result>(
  attempt: () => Result,
  deadline = lockDeadline(),
): Promise<Result> {
  for (;;) {
    try {
      return attempt()
    } catch (error) {
      if (!isLocked(error) || performance.now() > deadline) throw toServiceError(error)
      await delay(LOCK_INTERVAL_MS)
    }
  }
}

/** An extended code has its primary code in the lowest byte. */
function hasCode(error: unknown, ...codes: readonly number[]): boolean {
  return error instanceof Error && 'errcode' in error && codes.includes(Number(error.errcode) & 0xff)
}
