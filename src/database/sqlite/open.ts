// Opens a database file, or throws an UnusableDatabase that says why in one line. A rejected file stays unchanged.

import { accessSync, constants, mkdirSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { UnusableDatabase } from '../../store.ts'
import { checkIntegrity } from './integrity.ts'
import { migrate } from './migrate.ts'
import { isOpening } from './result-codes.ts'

export const MEMORY = ':memory:'

/** How long opening waits for the lock, because several processes may start on one file at the same time. */
const OPEN_TIMEOUT_MS = 2_000

const CHECK_ATTEMPTS = 5
const CHECK_PAUSE_MS = 20

/** SQLite's page cache: enough for the inner pages of ten million animals, and the busiest others. */
const CACHE_KIB = 16 * 1024

export interface OpenOptions {
  /** Create the file and its folder if they do not exist. */
  readonly create: boolean
  /** For the writer thread: another connection has just checked the file, and a small page cache is enough. */
  readonly isWriter?: boolean
}

export function openDatabase(path: string, { create, isWriter = false }: OpenOptions): DatabaseSync {
  const file = path === MEMORY ? undefined : checkFile(path, create)
  let database: DatabaseSync | undefined
  try {
    if (!isWriter && file !== undefined && file.size > 0)
      retryWhileOpening(() => checkContents(path, file.size))
    database = new DatabaseSync(path, { timeout: OPEN_TIMEOUT_MS, enableForeignKeyConstraints: true })
    database.exec('pragma journal_mode = wal')
    database.exec('pragma synchronous = full')
    if (!isWriter) database.exec(`pragma cache_size = -${CACHE_KIB}`)
    migrate(database)
    // From here on lock-retry.ts waits for locks, without blocking the thread.
    database.exec('pragma busy_timeout = 0')
    return database
  } catch (error) {
    if (database?.isOpen) database.close()
    if (error instanceof UnusableDatabase) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new UnusableDatabase(`The database ${path} cannot be opened: ${reason}.`, { cause: error })
  }
}

/** Returns the device and inode that a path leads to now, or undefined if there is no file or it cannot be reached. */
export function fileIdentity(path: string): string | undefined {
  if (path === MEMORY) return MEMORY
  try {
    const stats = statSync(path, { throwIfNoEntry: false })
    return stats && `${stats.dev}:${stats.ino}`
  } catch {
    return undefined
  }
}

/** SQLite keeps the newest changes in the write-ahead log, which it finds by this name alone. */
export function walPath(path: string): string {
  return `${path}-wal`
}

export function fileSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function checkFile(path: string, create: boolean): Stats | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) {
    if (!create) throw new UnusableDatabase(`There is no database at ${path}.`)
    try {
      mkdirSync(dirname(path), { recursive: true })
    } catch (error) {
      throw new UnusableDatabase(`The folder of the database ${path} cannot be created.`, { cause: error })
    }
    return undefined
  }
  if (!stats.isFile()) throw new UnusableDatabase(`The database ${path} is not a file.`)
  if (!isWritable(path, stats)) throw new UnusableDatabase(`The database ${path} is read-only.`)
  return stats
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

/** Opens the file read-only, so that a rejected one stays unchanged, together with a WAL that a crash left behind. */
function checkContents(path: string, size: number): void {
  const database = new DatabaseSync(path, { readOnly: true, timeout: OPEN_TIMEOUT_MS })
  try {
    // In one transaction: otherwise another process could migrate the file between two reads.
    database.exec('begin')
    const problem = checkIntegrity(database, size)
    if (problem !== undefined) throw new UnusableDatabase(`The database ${path} ${problem}.`)
  } finally {
    database.close()
  }
}
