// Opens a database file, or says in one line why not. A file that is refused is left as it was.

import { accessSync, constants, mkdirSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { APPLICATION_ID, LATEST_SCHEMA, migrate, schemaVersion } from './migrate.ts'

export const MEMORY = ':memory:'

/** Several processes may start on one file at once, and wait for each other. */
const OPENING_WAIT_MS = 2_000

/** How long SQLite then waits for a lock, blocking this thread; the store waits longer, without blocking. */
const LOCK_WAIT_MS = 50

/** Checking a whole file takes about 14 ms per megabyte; a larger one is checked at its edges only. */
const FULL_CHECK_BYTES = 4 * 1024 * 1024

/** The file cannot be used as it is, and a person has to look at it. */
export class UnusableDatabase extends Error {
  override name = 'UnusableDatabase'
}

export interface OpenOptions {
  /** Make the file and its folder where there is none. */
  readonly create: boolean
}

export function openDatabase(path: string, { create }: OpenOptions): DatabaseSync {
  const file = path === MEMORY ? undefined : prepareFile(path, create)
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { timeout: OPENING_WAIT_MS, enableForeignKeyConstraints: true })
    if (file !== undefined && file.size > 0) judge(database, path, file.size)
    // The first write to the file: everything that could refuse it comes before.
    database.exec('pragma journal_mode = wal')
    database.exec('pragma synchronous = full')
    migrate(database)
    database.exec(`pragma busy_timeout = ${LOCK_WAIT_MS}`)
    return database
  } catch (error) {
    if (database?.isOpen) database.close()
    if (error instanceof UnusableDatabase) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new UnusableDatabase(`The database ${path} cannot be opened: ${reason}.`, { cause: error })
  }
}

/** The file's device and inode, or undefined where there is no file. */
export function fileIdentity(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats && `${stats.dev}:${stats.ino}`
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

function judge(database: DatabaseSync, path: string, size: number): void {
  const version = schemaVersion(database)
  const isEmpty = database.prepare('select 1 from sqlite_schema limit 1').get() === undefined
  const applicationId = Number(database.prepare('pragma application_id').get()?.application_id)
  if (isEmpty) return
  if (applicationId !== APPLICATION_ID) {
    throw new UnusableDatabase(`The database ${path} belongs to another program.`)
  }
  if (version > LATEST_SCHEMA) {
    throw new UnusableDatabase(
      `The database ${path} has schema ${version}, newer than ${LATEST_SCHEMA}, the newest this version knows: start a newer animal-store.`,
    )
  }
  const problem = size <= FULL_CHECK_BYTES ? checkWhole(database) : checkEdges(database)
  if (problem !== undefined) {
    throw new UnusableDatabase(`The database ${path} is corrupt (${problem}): restore it from a backup.`)
  }
}

function checkWhole(database: DatabaseSync): string | undefined {
  const answer = String(database.prepare('pragma quick_check(1)').get()?.quick_check)
  return answer === 'ok' ? undefined : firstLine(answer.replace(/^\*\*\* in database main \*\*\*\s*/, ''))
}

function checkEdges(database: DatabaseSync): string | undefined {
  try {
    for (const order of ['asc', 'desc']) {
      database.prepare(`select * from animals order by id ${order} limit 100`).all()
      database
        .prepare(
          `select * from animals where status is not null order by status ${order}, id ${order} limit 100`,
        )
        .all()
      database.prepare(`select * from api_keys order by id ${order} limit 100`).all()
    }
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? text
}
