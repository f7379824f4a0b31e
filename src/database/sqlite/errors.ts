// SQLite's result codes (https://www.sqlite.org/rescode.html): which of them mean a lock, and which an unavailable database.

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

export function isLocked(error: unknown): boolean {
  return hasCode(error, UNAVAILABLE.BUSY, UNAVAILABLE.LOCKED)
}

export function isDamaged(error: unknown): boolean {
  return hasCode(error, UNAVAILABLE.CORRUPT, UNAVAILABLE.NOTADB)
}

/** SQLite reports a full disk like this when it opens a database. */
export function isDiskError(error: unknown): boolean {
  return hasCode(error, UNAVAILABLE.IOERR)
}

export function isReadOnly(error: unknown): boolean {
  return hasCode(error, UNAVAILABLE.READONLY)
}

/** Another process may be creating or migrating the file, or deleting its WAL. */
export function isRetryableOpenError(error: unknown): boolean {
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
  return unavailable({ cause, isNothingStored: !isDiskError(error) })
}

/** An extended code has its primary code in the lowest byte. */
function hasCode(error: unknown, ...codes: readonly number[]): boolean {
  return error instanceof Error && 'errcode' in error && codes.includes(Number(error.errcode) & 0xff)
}
