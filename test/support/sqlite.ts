// SQLite stores for tests, and direct access to their files, as another program would have.

import { DatabaseSync } from 'node:sqlite'
import { type Clock, systemClock } from '../../src/clock.ts'
import { openSqliteStore } from '../../src/database/sqlite/sqlite-store.ts'
import type { Store, StoreLog } from '../../src/store.ts'
import { createAnimals } from './animals.ts'
import type { Scope } from './service.ts'

interface TestStoreOptions {
  readonly create?: boolean
  readonly clock?: Clock
  readonly log?: StoreLog
}

/** Opens a store that is closed at the end of the test. */
export function openTestStore(
  t: Scope,
  path: string,
  { create = true, clock = systemClock, log }: TestStoreOptions = {},
): Store {
  const store = openSqliteStore({ path, clock, create, log })
  t.after(() => store.close())
  return store
}

export async function addAnimal(store: Store, name: string): Promise<void> {
  await createAnimals(store, [{ animal: { name, categoryId: 1n, status: 'sold' } }])
}

export async function animalNames(store: Store): Promise<string[]> {
  return (await store.listAnimals({ limit: 1_000 })).map(({ name }) => name)
}

/** Opens the file directly. The connection is closed at the end of the test. */
export function openDatabase(t: Scope, path: string): DatabaseSync {
  const database = new DatabaseSync(path)
  t.after(() => database.close())
  return database
}

/** Takes the write lock of the file. Returns a function that releases it. */
export function lockForWriting(t: Scope, path: string): () => void {
  const database = openDatabase(t, path)
  database.exec('begin immediate')
  return () => database.exec('rollback')
}

/** Runs SQL on the file, and closes it again. */
export function runSql(path: string, sql: string): void {
  const database = new DatabaseSync(path)
  try {
    database.exec(sql)
  } finally {
    database.close()
  }
}

/** The first column of the first row. */
export function queryValue(path: string, sql: string): unknown {
  const database = new DatabaseSync(path)
  try {
    return Object.values(database.prepare(sql).get() ?? {})[0]
  } finally {
    database.close()
  }
}

export function countAnimals(path: string): unknown {
  return queryValue(path, 'select count(*) from animals')
}
