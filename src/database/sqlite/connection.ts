// Opens a connection to a database, or throws an UnusableDatabase that says why in one line. A rejected file stays unchanged.

import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { UnusableDatabase } from '../../store.ts'
import { isLocked, isOpening, lockDeadline } from './errors.ts'
import { createFile, isWritable, MEMORY, requireFile } from './files.ts'
import { checkIntegrity } from './integrity.ts'
import { migrate } from './migrate.ts'
import { type Connection, prepareStatements } from './statements.ts'

/** How often a start tries again while another process creates or migrates the file. */
const OPEN_INTERVAL_MS = 20

/** SQLite's page cache: enough for the inner pages of ten million animals, and the busiest others. */
const CACHE_KIB = 16 * 1024

/**
 * Checks the file, migrates it, and opens it. Creates the file and its folder first if they do not exist and `create` is true.
 * Blocks the thread: nothing else can run before the database is open.
 */
export function openConnection(path: string, create: boolean): Connection {
  let uncheckedBytes = path === MEMORY ? 0 : checkFile(path, create)
  let deadline: number | undefined
  for (;;) {
    try {
      if (uncheckedBytes > 0) checkContents(path, uncheckedBytes)
      uncheckedBytes = 0
      return connect(path, prepareDatabase)
    } catch (error) {
      deadline ??= lockDeadline()
      if (!isOpening(error) || performance.now() > deadline) throw asUnusable(path, error)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, OPEN_INTERVAL_MS)
    }
  }
}

function prepareDatabase(database: DatabaseSync): void {
  const mode = database.prepare('pragma journal_mode = wal').get()?.journal_mode
  if (mode !== 'wal' && mode !== 'memory')
    throw new UnusableDatabase('SQLite cannot use a write-ahead log in this folder. Use a local disk.')
  database.exec(`pragma cache_size = -${CACHE_KIB}`)
  migrate(database)
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
  if (create && !existsSync(path)) createFile(path)
  const { size } = requireFile(path)
  if (!isWritable(path)) throw new UnusableDatabase(`The database ${path} is read-only.`)
  return size
}

/** Opens the file read-only, so that a rejected file and a WAL that a crash left behind stay unchanged. */
function checkContents(path: string, size: number): void {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 0 })
  try {
    // In one transaction: otherwise another process could migrate the file between two reads.
    database.exec('begin')
    const problem = checkIntegrity(database, size)
    if (problem !== undefined) throw new UnusableDatabase(`The database ${path} ${problem}.`)
  } finally {
    database.close()
  }
}
