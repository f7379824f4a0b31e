// An open database file with its prepared statements.

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { UnusableDatabase } from '../../store.ts'
import { fileIdentity, MEMORY, walPath } from './files.ts'
import type { LockState } from './lock-state.ts'
import { closeWithoutCheckpoint } from './lost-wal.ts'
import { type OpenOptions, openDatabase } from './open.ts'
import { createReadLock, type ReadLock } from './read-lock.ts'
import { isLocked } from './result-codes.ts'
import { prepareExact, prepareStatements, type Statements } from './statements.ts'
import { isWalComplete, type Wal, watchWal } from './wal.ts'

export interface Session {
  readonly database: DatabaseSync
  readonly statements: Statements
  readonly dataVersion: StatementSync
  readonly begin: StatementSync
  readonly commit: StatementSync
  /** The identity of the file when it was opened. */
  readonly file: string | undefined
  readonly wal: Wal
  /** Only the writer thread has one. */
  readonly readLock: ReadLock | undefined
}

export interface SessionOptions extends OpenOptions {
  /** For the writer thread: where it tells the main thread what it has locked. */
  readonly lockState?: LockState | undefined
}

export function openSession(path: string, options: SessionOptions): Session {
  const database = openDatabase(path, options)
  let wal: Wal | undefined
  try {
    wal = watchWal(database, path, options.isWriter === true)
    return {
      database,
      statements: prepareStatements(database),
      dataVersion: database.prepare('pragma data_version'),
      begin: prepareExact(database, 'begin'),
      commit: prepareExact(database, 'commit'),
      file: fileIdentity(path),
      wal,
      readLock: options.isWriter ? createReadLock(path, wal, options.lockState) : undefined,
    }
  } catch (error) {
    wal?.close()
    database.close()
    if (isLocked(error)) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new UnusableDatabase(`The database ${path} cannot be used: ${reason}.`, { cause: error })
  }
}

/**
 * Closes the file, and does not change it if its write-ahead log (WAL) was truncated or overwritten. The `wal` of the writer
 * thread stays open, for last-file.ts.
 */
export function closeSession({ database, file, wal, readLock }: Session, path: string): void {
  readLock?.close()
  if (!database.isOpen) return
  const isInPlace = fileIdentity(path) === file && fileIdentity(walPath(path)) === wal.identity
  if (isInPlace && path !== MEMORY && !isReadable(wal)) closeWithoutCheckpoint(database, path)
  else database.close()
}

function isReadable(wal: Wal): boolean {
  try {
    return isWalComplete(wal)
  } catch {
    return false
  }
}
