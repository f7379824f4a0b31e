// Migrates a database file to the latest schema. Migrations run forward only, each in its own transaction.

import type { DatabaseSync } from 'node:sqlite'
import animals from './migrations/001-animals.ts'
import apiKeys from './migrations/002-api-keys.ts'
import idempotencyKeys from './migrations/003-idempotency-keys.ts'
import pagesByStatus from './migrations/004-pages-by-status.ts'
import addSearchNames from './migrations/005-search-names.ts'
import inventory from './migrations/006-inventory.ts'
import searchByStatus from './migrations/007-search-by-status.ts'
import answersAndInventory from './migrations/008-answers-and-inventory.ts'
import keyAccess from './migrations/009-key-access.ts'
import { fillSearchNames } from './repair.ts'
import { transact } from './statements.ts'

interface Migration {
  /** Work that may take long: in transactions of its own, and again from where it was if the process is killed. */
  readonly prepare?: (database: DatabaseSync, onProgress: (animals: number) => void) => void
  readonly run: string | ((database: DatabaseSync) => void)
  /** The tables that it adds. */
  readonly adds: readonly string[]
}

/** Migrations 5 to 9 can run twice: going back to an older version sets the version of the schema back (docs/upgrade.md#back-to-11). */
const MIGRATIONS: readonly Migration[] = [
  { run: animals, adds: ['animals'] },
  { run: apiKeys, adds: ['api_keys'] },
  { run: idempotencyKeys, adds: ['idempotency_keys'] },
  { run: pagesByStatus, adds: [] },
  { run: addSearchNames, adds: [] },
  { run: inventory, adds: ['inventory'] },
  { prepare: fillSearchNames, run: searchByStatus, adds: [] },
  { run: answersAndInventory, adds: [] },
  { run: keyAccess, adds: [] },
]

export const LATEST_SCHEMA = MIGRATIONS.length

/** "anml" in ASCII. In the file's header it marks the file as one of ours. */
export const APPLICATION_ID = 0x616e6d6c

/** Several processes may start on one file at the same time, so the version is read again under the write lock. */
export function migrate(database: DatabaseSync, onProgress: (animals: number) => void): void {
  for (const [index, { prepare, run }] of MIGRATIONS.entries()) {
    if (schemaVersion(database) > index) continue
    prepare?.(database, onProgress)
    transact(database, () => {
      if (schemaVersion(database) !== index) return
      if (typeof run === 'string') database.exec(run)
      else run(database)
      database.exec(`pragma application_id = ${APPLICATION_ID}`)
      database.exec(`pragma user_version = ${index + 1}`)
    })
  }
}

// Litestream, which copies the database continuously, adds two tables of its own.
const LIST_TABLES = `
  select name from sqlite_schema
  where type = 'table' and name not like 'sqlite\\_%' escape '\\' and name not like '\\_litestream\\_%' escape '\\'
`

export function hasNoTables(database: DatabaseSync): boolean {
  return database.prepare(LIST_TABLES).get() === undefined
}

/** Returns whether the file has the tables of this schema version, and none of a later one. Others do no harm. */
export function hasTablesOf(version: number, database: DatabaseSync): boolean {
  const tables = new Set(
    database
      .prepare(LIST_TABLES)
      .all()
      .map(({ name }) => name),
  )
  return MIGRATIONS.every(({ adds }, index) => adds.every(table => tables.has(table) === index < version))
}

export function schemaVersion(database: DatabaseSync): number {
  return Number(database.prepare('pragma user_version').get()?.user_version)
}
