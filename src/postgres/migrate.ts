// Brings a database to the schema this version knows. Forward only, each step in a transaction of its own.

import type { ClientBase, QueryConfig } from 'pg'
import { UnusableDatabase } from '../store.ts'
import animals from './migrations/001-animals.ts'
import apiKeys from './migrations/002-api-keys.ts'
import idempotencyKeys from './migrations/003-idempotency-keys.ts'
import pagesByStatus from './migrations/004-pages-by-status.ts'
import type { Pool } from './pool.ts'

const MIGRATIONS = [animals, apiKeys, idempotencyKeys, pagesByStatus]

export const LATEST_SCHEMA = MIGRATIONS.length

const TABLES = ['animals', 'api_keys', 'idempotency_keys']

const MIGRATION_MS = 60 * 60 * 1000

const UNDEFINED_TABLE = '42P01'

// "if not exists" does not exclude two at once: the one that comes second is told that it exists.
const DUPLICATES = new Set(['23505', '42P07', '42710'])
const ATTEMPTS = 10

/** Safe when many instances start at once: the one row of the version table is locked for each step. */
export async function migrate(pool: Pool): Promise<void> {
  let version = await currentVersion(pool)
  for (let attempt = 1; version < LATEST_SCHEMA; attempt++) {
    try {
      version = await pool.transact(step)
    } catch (error) {
      if (attempt > ATTEMPTS || !DUPLICATES.has(codeOf(error))) throw error
      version = await currentVersion(pool)
    }
  }
  if (version > LATEST_SCHEMA) {
    throw new UnusableDatabase(
      `The PostgreSQL database has schema ${version}, newer than ${LATEST_SCHEMA}, the newest this version knows: start a newer animal-store.`,
    )
  }
  const { rows } = await pool.query(
    'select name from unnest($1::text[]) name where to_regclass(name) is null',
    [TABLES],
  )
  if (rows.length > 0) {
    throw new UnusableDatabase(
      `The PostgreSQL database says it has schema ${version}, but does not have its tables: restore it from a backup.`,
    )
  }
}

/** Takes the lock that keeps instances apart until the transaction ends; returns the schema's version. */
export async function lockSchema(client: ClientBase): Promise<number> {
  const { rows } = await client.query('select version from animal_store_schema where id = 1 for update')
  return rows[0].version
}

/** One migration, and before the first of them the version table: all of it, or nothing. */
async function step(client: ClientBase): Promise<number> {
  await client.query(
    'create table if not exists animal_store_schema (id integer primary key, version integer not null)',
  )
  await client.query(
    'insert into animal_store_schema (id, version) values (1, 0) on conflict (id) do nothing',
  )
  const version = await lockSchema(client)
  const sql = MIGRATIONS[version]
  if (sql === undefined) return version
  // However long it takes: a later step may have to go through millions of rows.
  await client.query({ text: sql, query_timeout: MIGRATION_MS } as QueryConfig)
  await client.query('update animal_store_schema set version = $1 where id = 1', [version + 1])
  return version + 1
}

/** Where nothing is to be done, no right to do it is needed: this only looks. */
async function currentVersion(pool: Pool): Promise<number> {
  try {
    const { rows } = await pool.query('select version from animal_store_schema where id = 1')
    return rows[0]?.version ?? 0
  } catch (error) {
    if (codeOf(error) === UNDEFINED_TABLE) return 0
    throw error
  }
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code)
}
