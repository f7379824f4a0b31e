// SQLite's result codes (https://www.sqlite.org/rescode.html): which mean a lock, and which an unavailable database.

import { unavailable } from '../../error.ts'
import { UnusableDatabase } from '../../store.ts'

const LOCKED = { busy: 5, locked: 6 }

/** The other codes, such as CONSTRAINT, MISMATCH and MISUSE, mean a bug in this program. */
const UNAVAILABLE = {
  ...LOCKED,
  nomem: 7,
  readonly: 8,
  interrupt: 9,
  ioerr: 10,
  corrupt: 11,
  full: 13,
  cantopen: 14,
  protocol: 15,
  schema: 17,
  notadb: 26,
}

const ERROR = { error: 1 }

/** PERM, IOERR_UNLOCK, IOERR_RDLOCK and IOERR_LOCK: the system has refused a lock with an unusual error. */
const REFUSED_LOCK = new Set([3, 2058, 2314, 3850])

const CORRUPT = { corrupt: UNAVAILABLE.corrupt, notadb: UNAVAILABLE.notadb }

/** The file, or its write-ahead log, may be another one now. Opening it again may help. */
const BROKEN = {
  ...CORRUPT,
  ioerr: UNAVAILABLE.ioerr,
  cantopen: UNAVAILABLE.cantopen,
  protocol: UNAVAILABLE.protocol,
}

/** The database cannot be used at this moment, as if another process held a lock. */
export class DatabaseLocked extends Error {
  override name = 'DatabaseLocked'
  readonly errcode = LOCKED.busy
}

/** All statements were valid when the file was opened, so another program has changed the schema since. */
const CHANGED_SCHEMA = /no such (table|column|index)|has no column named/

export function isLocked(error: unknown): boolean {
  return hasCode(error, LOCKED)
}

/** A lock was waited for in vain. If it was a lock for reading, SQLite itself has waited, and reports `protocol`. */
export function isLockTimeout(error: unknown): boolean {
  return hasCode(error, { ...LOCKED, protocol: UNAVAILABLE.protocol }) && !(error instanceof DatabaseLocked)
}

/** The operating system has refused a lock on a database without a write-ahead log, or refused to release it. */
export function isLockRefused(error: unknown): boolean {
  return isLocked(error) || REFUSED_LOCK.has(errorCode(error))
}

export function isCorrupt(error: unknown): boolean {
  return hasCode(error, CORRUPT)
}

export function isBroken(error: unknown): boolean {
  return hasCode(error, BROKEN)
}

/** Another process may be creating the file, or deleting its WAL. */
export function isOpening(error: unknown): boolean {
  return hasCode(error, { ...LOCKED, cantopen: UNAVAILABLE.cantopen })
}

/** Returns `unavailable` if the error means that the database cannot be used, otherwise the error itself. */
export function toServiceError(error: unknown): unknown {
  const isUnusable =
    error instanceof UnusableDatabase || hasCode(error, UNAVAILABLE) || hasChangedSchema(error)
  return isUnusable ? unavailable(error) : error
}

function hasChangedSchema(error: unknown): boolean {
  return hasCode(error, ERROR) && CHANGED_SCHEMA.test((error as Error).message)
}

/** An extended code has its primary code in the lowest byte. */
function hasCode(error: unknown, codes: Readonly<Record<string, number>>): boolean {
  return Object.values(codes).includes(errorCode(error) & 0xff)
}

/** Returns 0, which means success, for an error that is not SQLite's. */
function errorCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : 0
}
