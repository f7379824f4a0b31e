// Opens a connection to a database, or throws an UnusableDatabase that says why in one line. A rejected file stays unchanged.

import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { UnusableDatabase } from '../../store.ts'
import { createMigrationProgress } from '../migration-progress.ts'
import { describeOtherSchema } from '../other-schema.ts'
import { isDamaged, isDiskError, isLocked, isReadOnly, isRetryableOpenError } from './errors.ts'
import { createFile, isWritable, MEMORY, requireFile } from './files.ts'
import { blockThread, lockDeadline, waitForLocks } from './locks.ts'
import { APPLICATION_ID, hasNoTables, hasTablesOf, LATEST_SCHEMA, migrate, schemaVersion } from './migrate.ts'
import { type OpenDatabase, prepareStatements } from './statements.ts'

/** How often a start tries again while another process creates or migrates the file. */
const OPEN_INTERVAL_MS = 20

/** How long a checkpoint waits for readers. */
const READERS_TIMEOUT_MS = 100

const CHECKPOINT_INTERVAL_MS = 10

/** SQLite's page cache: enough for the inner pages of ten million animals, and the busiest others. */
const CACHE_KIB = 16 * 1024

/** Prints a message for a person. */
type Say = (text: string) => void

/**
 * Checks whose file it is, migrates it if it is older, and opens it. Opening takes the same time however large the file is: only
 * `backup` and `restore` look for damage. Creates the file and its folder first if they do not exist and `create` is true.
 * Blocks the thread: nothing else can run before the database is open.
 */
export function openConnection(path: string, create: boolean, say: Say = () => {}): OpenDatabase {
  let isChecked = path === MEMORY || checkFile(path, create) === 0
  let deadline: number | undefined
  const sayOnce = once(say)
  for (;;) {
    try {
      if (!isChecked) requireOwnSchema(path)
      isChecked = true
      return connect(path, database => prepareDatabase(database, path, sayOnce))
    } catch (error) {
      if (!isRetryableOpenError(error)) throw asUnusable(path, error)
      // A migration of many animals takes minutes, and holds the lock for a part of them.
      if (isOutdated(path)) {
        sayOnce(`Another process has locked ${path}, probably to migrate it. Waiting for it.`)
        deadline = undefined
      } else {
        deadline ??= lockDeadline()
        if (performance.now() > deadline) throw asUnusable(path, error)
      }
      blockThread(OPEN_INTERVAL_MS)
    }
  }
}

/** Prints each message only once. */
function once(say: Say): Say {
  const said = new Set<string>()
  return text => {
    if (said.has(text)) return
    said.add(text)
    say(text)
  }
}

function prepareDatabase(database: DatabaseSync, path: string, say: Say): void {
  const mode = database.prepare('pragma journal_mode = wal').get()?.journal_mode
  if (mode !== 'wal' && mode !== 'memory')
    throw new UnusableDatabase('SQLite cannot use a write-ahead log in this folder. Use a local disk.')
  database.exec(`pragma cache_size = -${CACHE_KIB}`)
  const version = schemaVersion(database)
  if (version > 0 && version < LATEST_SCHEMA)
    say(
      `Migrating ${path} to schema ${LATEST_SCHEMA}. It takes a few seconds per million animals, and goes on at the next start if it is interrupted.`,
    )
  // Another process that migrates the file, too, holds the lock for less than this at a time.
  waitForLocks(database, 1_000, () => migrate(database, createMigrationProgress(say)))
}

/** Whether the file has an older schema, which must be migrated. */
function isOutdated(path: string): boolean {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { readOnly: true, timeout: 0 })
    const version = schemaVersion(database)
    return version > 0 && version < LATEST_SCHEMA
  } catch {
    return false
  } finally {
    if (database?.isOpen) database.close()
  }
}

/** Opens a file that another connection of this process has checked and migrated. Throws SQLite's error if that fails. */
export function openSecondConnection(path: string): OpenDatabase {
  return connect(path, () => {})
}

/** SQLite itself never waits for a lock: retryWhileLocked does, without blocking the thread. */
function connect(path: string, prepare: (database: DatabaseSync) => void): OpenDatabase {
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
  const message = isLocked(error)
    ? `The database ${path} is locked by another process. Try again.`
    : `The database ${path} cannot be opened: ${reasonOf(error)}.`
  return new UnusableDatabase(message, { cause: error })
}

/** SQLite's own words, and what to do where they do not say it. */
function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error)
  // The file itself is writable.
  if (isReadOnly(error))
    return 'SQLite creates files beside it, and may not write to them or to the folder. Check their permissions'
  if (isDamaged(error)) return `${reason}. Check the path, or restore a backup`
  return isDiskError(error) ? `${reason}. Look whether the disk is full` : reason
}

/** Creates the file if it does not exist. Returns its size. */
function checkFile(path: string, create: boolean): number {
  if (create && !existsSync(path)) createFile(path)
  const { size } = requireFile(path)
  if (!isWritable(path)) throw new UnusableDatabase(`The database ${path} is read-only.`)
  return size
}

/**
 * Copies the whole WAL and empties it. Returns false if a reader still used it when the time was up. SQLite itself waits for readers, but
 * not for a process that is copying the WAL already, as other workers may be: so this tries again.
 */
export function truncateWal(database: DatabaseSync, timeoutMs = READERS_TIMEOUT_MS): boolean {
  const deadline = performance.now() + timeoutMs
  const checkpoint = () => database.prepare('pragma wal_checkpoint(truncate)').get()?.busy === 0
  return waitForLocks(database, timeoutMs, () => {
    while (!checkpoint()) {
      if (performance.now() > deadline) return false
      blockThread(CHECKPOINT_INTERVAL_MS)
    }
    return true
  })
}

export function requireOwnSchema(path: string): void {
  const problem = inspectFile(path, database => (isEmpty(database) ? undefined : findSchemaProblem(database)))
  if (problem !== undefined) throw new UnusableDatabase(`The database ${path} ${problem}.`)
}

/** Opens the file read-only, so that a rejected file and a WAL that a crash left behind stay unchanged. */
export function inspectFile<Result>(path: string, work: (database: DatabaseSync) => Result): Result {
  try {
    return inspectFileWith(path, { readOnly: true }, work)
  } catch (error) {
    // A kill during its creation has left a rollback journal, which only a connection that may write can apply.
    if (!isReadOnly(error)) throw error
    return inspectFileWith(path, {}, work)
  }
}

function inspectFileWith<Result>(
  path: string,
  options: { readonly readOnly?: boolean },
  work: (database: DatabaseSync) => Result,
): Result {
  const database = new DatabaseSync(path, { ...options, timeout: 0 })
  try {
    // In one transaction: otherwise another process could migrate the file between two reads.
    database.exec('begin')
    return work(database)
  } finally {
    database.close()
  }
}

/** Returns whether nobody has created tables, or marked the file as theirs. */
export function isEmpty(database: DatabaseSync): boolean {
  return applicationId(database) === 0 && schemaVersion(database) === 0 && hasNoTables(database)
}

/**
 * Returns the problem if the database is not one of ours, or a newer version of this program has created it, or a table is missing.
 * It is the end of a sentence that starts with "The database …".
 */
export function findSchemaProblem(database: DatabaseSync): string | undefined {
  if (applicationId(database) !== APPLICATION_ID) return 'belongs to another program'
  const version = schemaVersion(database)
  if (version > LATEST_SCHEMA) return describeOtherSchema(version, LATEST_SCHEMA)
  if (version >= 1 && hasTablesOf(version, database)) return undefined
  return `says it has schema ${version}, but does not have its tables: restore a backup`
}

function applicationId(database: DatabaseSync): number {
  return Number(database.prepare('pragma application_id').get()?.application_id)
}
