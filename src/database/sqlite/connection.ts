// Opens a connection to a database, or throws an UnusableDatabase that says why in one line. A rejected file stays unchanged.

import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { UnusableDatabase, type Warn } from '../../store.ts'
import { isLocked, isOpening } from './errors.ts'
import { createFile, createFolder, isWritable, MEMORY } from './files.ts'
import { checkIntegrity } from './integrity.ts'
import { migrate } from './migrate.ts'
import { prepareStatements, type Statements } from './statements.ts'

export interface Connection {
  readonly database: DatabaseSync
  readonly statements: Statements
}

export interface ConnectionOptions {
  /** Create the file and its folder if they do not exist. */
  readonly create: boolean
  readonly warn: Warn
}

/** How long a start waits for another process that creates or migrates the file. */
const OPEN_TIMEOUT_MS = 2_000
const OPEN_INTERVAL_MS = 20

/** SQLite's page cache: enough for the inner pages of ten million animals, and the busiest others. */
const CACHE_KIB = 16 * 1024

/** Checks the file, migrates it, and opens it. Blocks the thread: nothing else can run before the database is open. */
export function openConnection(path: string, { create, warn }: ConnectionOptions): Connection {
  const size = path === MEMORY ? 0 : checkFile(path, create)
  const deadline = performance.now() + OPEN_TIMEOUT_MS
  for (;;) {
    try {
      if (size > 0) checkContents(path, size, warn)
      return connect(path, database => {
        database.exec(`pragma journal_mode = wal; pragma cache_size = -${CACHE_KIB}`)
        migrate(database)
      })
    } catch (error) {
      if (!isOpening(error) || performance.now() > deadline) throw asUnusable(path, error)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, OPEN_INTERVAL_MS)
    }
  }
}

/** Opens a file that another connection of this process has checked and migrated. Throws SQLite's error if that fails. */
export function openSecondConnection(path: string): Connection {
  return connect(path, () => {})
}

/** SQLite itself never waits for a lock: retryWhileLocked does, without blocking the thread. */
function connect(path: string, prepare: (database: DatabaseSync) => void): Connection {
  const database = new DatabaseSync(path, { timeout: 0, enableForeignKeyConstraints: true })
  try {
    database.exec('pragma synchronous = full')
    prepare(database)
    return { database, statements: prepareStatements(database) }
  } catch (error) {
    database.close()
    throw error
  }
}

function asUnusable(path: string, error: unknown): UnusableDatabase {
  if (error instanceof UnusableDatabase) return error
  const reason = error instanceof Error ? error.message : String(error)
  const message = isLocked(error)
    ? `The database ${path} is locked by another process, which may be migrating it. Try again.`
    : `The database ${path} cannot be opened: ${reason}.`
  return new UnusableDatabase(message, { cause: error })
}

/** Creates the file if it does not exist. Returns its size. */
function checkFile(path: string, create: boolean): number {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) {
    if (!create) throw new UnusableDatabase(`There is no database at ${path}.`)
    createPrivately(path)
    return 0
  }
  if (!stats.isFile()) throw new UnusableDatabase(`The database ${path} is not a file.`)
  if (!isWritable(path)) throw new UnusableDatabase(`The database ${path} is read-only.`)
  return stats.size
}

function createPrivately(path: string): void {
  let what = 'folder of the database'
  try {
    createFolder(dirname(path))
    what = 'database'
    createFile(path)
  } catch (error) {
    throw new UnusableDatabase(`The ${what} ${path} cannot be created.`, { cause: error })
  }
}

/** Opens the file read-only, so that a rejected file and a WAL that a crash left behind stay unchanged. */
function checkContents(path: string, size: number, warn: Warn): void {
  const startedAt = performance.now()
  const database = new DatabaseSync(path, { readOnly: true, timeout: 0 })
  try {
    // In one transaction: otherwise another process could migrate the file between two reads.
    database.exec('begin')
    const problem = checkIntegrity(database, size)
    if (problem !== undefined) throw new UnusableDatabase(`The database ${path} ${problem}.`)
  } finally {
    database.close()
  }
  const seconds = (performance.now() - startedAt) / 1000
  if (seconds > 1) warn(`Checking the database ${path} took ${seconds.toFixed(1)} s.`)
}
