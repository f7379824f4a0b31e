// SQLite as the source or the target of a copy. The source is locked against writes, and the target is filled in one transaction.

import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { searchName } from '../../animal.ts'
import { ServiceError } from '../../error.ts'
import { UnusableDatabase, type Warn } from '../../store.ts'
import type { IdempotencyRow, Snapshot, Target } from '../copy-database.ts'
import { describeOtherSchema } from '../other-schema.ts'
import { keyValues, toAnimal, toKey } from '../rows.ts'
import { inspectFile, openConnection, requireOwnSchema } from './connection.ts'
import { fileStats, requireFile, restrictFiles } from './files.ts'
import { LONG_LOCK_TIMEOUT_MS, retryWhileLocked } from './locks.ts'
import { LATEST_SCHEMA, schemaVersion } from './migrate.ts'
import { correctInventory } from './repair.ts'
import { type OpenDatabase, prepareExact, prepareRows, prepareStatements } from './statements.ts'

/** Runs the work with a snapshot of the file, while nobody can write to it. Migrates nothing. */
export async function withSqliteSnapshot<Result>(
  path: string,
  signal: AbortSignal,
  work: (snapshot: Snapshot) => Promise<Result>,
): Promise<Result> {
  requireFile(path)
  try {
    await retryWhileLocked(() => requireOwnSchema(resolve(path)))
    const database = new DatabaseSync(resolve(path), { timeout: 0 })
    try {
      await begin(database, signal)
      const version = schemaVersion(database)
      if (version < LATEST_SCHEMA)
        throw new UnusableDatabase(`The database ${path} ${describeOtherSchema(version, LATEST_SCHEMA)}.`)
      return await work(snapshotOf(database))
    } finally {
      // The transaction has written nothing.
      database.close()
    }
  } catch (error) {
    throw asUnusable(path, error)
  }
}

function snapshotOf(database: DatabaseSync): Snapshot {
  const { listAnimals } = prepareStatements(database)
  const lastIds = prepareRows(
    database,
    `select seq from sqlite_sequence where name = 'animals' union all select max(id) from animals`,
  )
  const listKeys = prepareExact(database, 'select * from api_keys order by created_at, id')
  const listIdempotencyKeys = prepareRows(
    database,
    `select scope, key, animal_id, created_at, request, answer, answered_at from idempotency_keys
     where (scope, key) > (?, ?) order by scope, key limit ?`,
  )
  return {
    listAnimals: async (start, limit) => listAnimals.all(start, limit).map(toAnimal),
    async lastId() {
      const ids = lastIds.all().map(([id]) => id as bigint | null)
      return ids.reduce<bigint>((last, id) => (id !== null && id > last ? id : last), 0n)
    },
    listKeys: async () => listKeys.all().map(toKey),
    listIdempotencyKeys: async (scope, key, limit) =>
      listIdempotencyKeys.all(scope, key, limit) as IdempotencyRow[],
  }
}

/**
 * Creates or migrates the file, and runs the work in a transaction. If it fails, the file holds nothing of it. Throws an
 * UnusableDatabase if the file has animals or keys.
 */
export async function fillSqlite<Result>(
  path: string,
  signal: AbortSignal,
  say: Warn,
  work: (target: Target) => Promise<Result>,
): Promise<Result> {
  const absolute = resolve(path)
  try {
    // Before anything is written to it.
    if ((fileStats(absolute)?.size ?? 0) > 0) {
      await retryWhileLocked(() => requireOwnSchema(absolute))
      await retryWhileLocked(() => inspectFile(absolute, database => requireEmpty(database, path)))
    }
    const connection = openConnection(absolute, true, say)
    const { database } = connection
    try {
      restrictFiles(realpathSync(absolute), say)
      await begin(database, signal)
      requireEmpty(database, path)
      const result = await work(targetOf(connection))
      database.exec('commit')
      return result
    } finally {
      database.close()
    }
  } catch (error) {
    throw asUnusable(path, error)
  }
}

function targetOf(connection: OpenDatabase): Target {
  const { database, statements } = connection
  // Left by animals and keys that are gone.
  database.exec('delete from idempotency_keys')
  const insertAnimal = prepareExact(
    database,
    'insert into animals (id, name, category_id, status, search_name) values (?, ?, ?, ?, ?)',
  )
  const insertIdempotencyKey = prepareExact(
    database,
    `insert into idempotency_keys (scope, key, animal_id, created_at, request, answer, answered_at)
     values (?, ?, ?, ?, ?, ?, ?)`,
  )
  const setLastId = prepareExact(
    database,
    `update sqlite_sequence set seq = max(seq, ?) where name = 'animals'`,
  )
  return {
    listAnimals: async (start, limit) => statements.listAnimals.all(start, limit).map(toAnimal),
    async addAnimals(animals) {
      for (const { id, name, categoryId, status } of animals)
        insertAnimal.run(id, name, categoryId, status ?? null, searchName(name))
    },
    async addKeys(keys) {
      for (const key of keys) statements.insertKey.run(...keyValues(key))
    },
    async addIdempotencyKeys(rows) {
      for (const row of rows) insertIdempotencyKey.run(...row)
    },
    async complete(lastId) {
      correctInventory(connection)
      database.exec(`
        insert into sqlite_sequence (name, seq)
        select 'animals', 0 where not exists (select 1 from sqlite_sequence where name = 'animals')`)
      setLastId.run(lastId)
    },
  }
}

/** Takes the write lock. */
function begin(database: DatabaseSync, signal: AbortSignal): Promise<void> {
  return retryWhileLocked(() => {
    signal.throwIfAborted()
    database.exec('begin immediate')
  }, performance.now() + LONG_LOCK_TIMEOUT_MS)
}

/** The file may have an older schema. */
function requireEmpty(database: DatabaseSync, path: string): void {
  for (const [table, what] of [
    ['animals', 'animals'],
    ['api_keys', 'keys'],
  ] as const) {
    const hasTable = database.prepare('select 1 from sqlite_schema where type = ? and name = ?')
    if (hasTable.get('table', table) === undefined) continue
    if (database.prepare(`select 1 from ${table} limit 1`).get() !== undefined)
      throw new UnusableDatabase(`The database ${path} has ${what} already. Copy to a new one.`)
  }
}

/** The work may fail because of the other database, which has described its error already. */
function asUnusable(path: string, error: unknown): unknown {
  const cause = error instanceof ServiceError ? error.cause : error
  if (!(cause instanceof Error && 'errcode' in cause)) return error
  return new UnusableDatabase(`The database ${path} cannot be used: ${cause.message}.`, { cause })
}
