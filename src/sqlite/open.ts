// Opens a database file, or says in one line why not. A file that is refused is left as it was.

import { accessSync, constants, mkdirSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { UnusableDatabase } from '../store.ts'
import { APPLICATION_ID, hasTablesOf, LATEST_SCHEMA, migrate, schemaVersion } from './migrate.ts'

export const MEMORY = ':memory:'

/** Several processes may start on one file at once, and wait for each other. Later the connection waits by itself. */
const OPENING_WAIT_MS = 2_000

/** Checking every row takes about 14 ms per megabyte; in a larger file only every page is, in 3 ms per megabyte. */
const FULL_CHECK_BYTES = 8 * 1024 * 1024

/** Of the file's pages: enough for the inner ones of ten million animals, and the busiest others. */
const CACHE_KIB = 16 * 1024

export interface OpenOptions {
  /** Make the file and its folder where there is none. */
  readonly create: boolean
  /** The writing thread's: another connection has just judged the file, and it needs no large cache. */
  readonly isWriter?: boolean
}

export function openDatabase(path: string, { create, isWriter = false }: OpenOptions): DatabaseSync {
  const file = path === MEMORY ? undefined : prepareFile(path, create)
  let database: DatabaseSync | undefined
  try {
    if (!isWriter && file !== undefined && file.size > 0) judge(path, file.size)
    database = new DatabaseSync(path, { timeout: OPENING_WAIT_MS, enableForeignKeyConstraints: true })
    database.exec('pragma journal_mode = wal')
    database.exec('pragma synchronous = full')
    if (!isWriter) database.exec(`pragma cache_size = -${CACHE_KIB}`)
    migrate(database)
    database.exec('pragma busy_timeout = 0')
    return database
  } catch (error) {
    if (database?.isOpen) database.close()
    if (error instanceof UnusableDatabase) throw error
    throw new UnusableDatabase(`The database ${path} cannot be opened: ${reasonOf(error)}.`, { cause: error })
  }
}

/** Which file a name means now, by device and inode; undefined where there is none, or it cannot be reached. */
export function fileAt(path: string): string | undefined {
  if (path === MEMORY) return MEMORY
  try {
    const stats = statSync(path, { throwIfNoEntry: false })
    return stats && `${stats.dev}:${stats.ino}`
  } catch {
    return undefined
  }
}

/** Where SQLite keeps the newest changes to a file. It finds them by this name alone. */
export function logOf(path: string): string {
  return `${path}-wal`
}

export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function prepareFile(path: string, create: boolean): Stats | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) {
    if (!create) throw new UnusableDatabase(`There is no database at ${path}.`)
    try {
      mkdirSync(dirname(path), { recursive: true })
    } catch (error) {
      throw new UnusableDatabase(`The folder of the database ${path} cannot be made.`, { cause: error })
    }
    return undefined
  }
  if (!stats.isFile()) throw new UnusableDatabase(`The database ${path} is not a file.`)
  if (!isWritable(path, stats)) throw new UnusableDatabase(`The database ${path} is read-only.`)
  return stats
}

/** The mode is looked at as well, because to root every file is writable, whatever its mode says. */
function isWritable(path: string, stats: Stats): boolean {
  if ((stats.mode & 0o222) === 0) return false
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Read-only, so that a file that is refused stays as it is, with the log that a crash may have left beside it. */
function judge(path: string, size: number): void {
  const database = new DatabaseSync(path, { readOnly: true, timeout: OPENING_WAIT_MS })
  try {
    const problem = problemOf(database, size)
    if (problem !== undefined) throw new UnusableDatabase(`The database ${path} ${problem}.`)
  } finally {
    database.close()
  }
}

function problemOf(database: DatabaseSync, size: number): string | undefined {
  const version = schemaVersion(database)
  const applicationId = Number(database.prepare('pragma application_id').get()?.application_id)
  if (applicationId === 0 && version === 0 && hasTablesOf(0, database)) return undefined
  if (applicationId !== APPLICATION_ID) return 'belongs to another program'
  if (version > LATEST_SCHEMA) {
    return `has schema ${version}, newer than ${LATEST_SCHEMA}, the newest this version knows: start a newer animal-store`
  }
  if (version < 1 || !hasTablesOf(version, database)) {
    return `says it has schema ${version}, but does not have its tables: restore it from a backup`
  }
  const damage = size <= FULL_CHECK_BYTES ? checkWhole(database) : checkPages(database)
  return damage && `is corrupt (${damage}): restore it from a backup`
}

function checkWhole(database: DatabaseSync): string | undefined {
  const answer = String(database.prepare('pragma quick_check(1)').get()?.quick_check)
  return answer === 'ok' ? undefined : firstLine(answer.replace(/^\*\*\* in database main \*\*\*\s*/, ''))
}

/** Counting goes through every page of a table or an index, without looking at each row. */
function checkPages(database: DatabaseSync): string | undefined {
  try {
    for (const rows of [
      'animals not indexed',
      'animals indexed by animals_by_status where status is not null',
      'api_keys',
    ]) {
      database.prepare(`select count(*) from ${rows}`).get()
    }
    return undefined
  } catch (error) {
    return reasonOf(error)
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? text
}
