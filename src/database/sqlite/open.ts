// Opens a database file, or throws an UnusableDatabase that says why in one line. A rejected file stays unchanged.

import { accessSync, constants, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { UnusableDatabase } from '../../store.ts'
import { MEMORY } from './files.ts'
import { checkIntegrity } from './integrity.ts'
import { migrate } from './migrate.ts'
import { createFile, createFolder } from './permissions.ts'
import { isLocked, isOpening } from './result-codes.ts'

const CHECK_ATTEMPTS = 5
const CHECK_PAUSE_MS = 20

/** SQLite's page cache: enough for the inner pages of ten million animals, and the busiest others. */
const CACHE_KIB = 16 * 1024

export interface OpenOptions {
  /** Create the file and its folder if they do not exist. */
  readonly create: boolean
  /** Another connection has just checked and migrated the file. */
  readonly isChecked?: boolean
  /** For the writer thread: a small page cache is enough. */
  readonly isWriter?: boolean
  /** How long SQLite may block this thread while another process holds a lock. */
  readonly lockTimeoutMs: number
}

/** If the file is locked and `lockTimeoutMs` is 0, throws SQLite's error, which lock-retry.ts recognises. */
export function openDatabase(path: string, options: OpenOptions): DatabaseSync {
  const { create, isChecked = false, isWriter = false, lockTimeoutMs: timeout } = options
  const file = path === MEMORY ? undefined : checkFile(path, create)
  let database: DatabaseSync | undefined
  try {
    if (!isChecked && file !== undefined && file.size > 0)
      retryWhileOpening(() => checkContents(path, file.size, timeout))
    database = new DatabaseSync(path, { timeout, enableForeignKeyConstraints: true })
    database.exec('pragma journal_mode = wal')
    database.exec('pragma synchronous = full')
    // checkpoint.ts runs checkpoints instead. SQLite would run them before a write is reported, and before the read lock is
    // renewed, so it could never copy everything.
    if (isWriter) database.exec('pragma wal_autocheckpoint = 0')
    else database.exec(`pragma cache_size = -${CACHE_KIB}`)
    if (!isChecked) {
      migrate(database)
      // The tables must not depend on the WAL: if somebody empties it, the service can go on.
      database.exec('pragma wal_checkpoint(passive)')
    }
    // From here on lock-retry.ts waits for locks, without blocking the thread.
    database.exec('pragma busy_timeout = 0')
    return database
  } catch (error) {
    if (database?.isOpen) database.close()
    if (error instanceof UnusableDatabase || (timeout === 0 && isLocked(error))) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new UnusableDatabase(`The database ${path} cannot be opened: ${reason}.`, { cause: error })
  }
}

function checkFile(path: string, create: boolean): Stats | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) {
    if (!create) throw new UnusableDatabase(`There is no database at ${path}.`)
    createPrivately(path)
    return undefined
  }
  if (!stats.isFile()) throw new UnusableDatabase(`The database ${path} is not a file.`)
  if (!isWritable(path, stats)) throw new UnusableDatabase(`The database ${path} is read-only.`)
  return stats
}

function createPrivately(path: string): void {
  try {
    createFolder(dirname(path))
  } catch (error) {
    throw new UnusableDatabase(`The folder of the database ${path} cannot be created.`, { cause: error })
  }
  try {
    createFile(path)
  } catch (error) {
    throw new UnusableDatabase(`The database ${path} cannot be created.`, { cause: error })
  }
}

/** Checks the mode too, because root may write to every file whatever its mode says. */
export function isWritable(path: string, stats: Stats): boolean {
  if ((stats.mode & 0o222) === 0) return false
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Several processes may start on one file: then one may look at it while another creates it. */
function retryWhileOpening(check: () => void): void {
  for (let attempt = 1; ; attempt++) {
    try {
      check()
      return
    } catch (error) {
      if (attempt === CHECK_ATTEMPTS || !isOpening(error)) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, CHECK_PAUSE_MS)
    }
  }
}

/** Opens the file read-only, so that a rejected file and a WAL that a crash left behind stay unchanged. */
function checkContents(path: string, size: number, timeout: number): void {
  const database = new DatabaseSync(path, { readOnly: true, timeout })
  try {
    // In one transaction: otherwise another process could migrate the file between two reads.
    database.exec('begin')
    const problem = checkIntegrity(database, size)
    if (problem !== undefined) throw new UnusableDatabase(`The database ${path} ${problem}.`)
  } finally {
    database.close()
  }
}
