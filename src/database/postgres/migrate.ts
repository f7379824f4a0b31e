// Migrates a database to the latest schema. Migrations run forward only, each in its own transaction.

import type { ClientBase, QueryConfig } from 'pg'
import { UnusableDatabase } from '../../store.ts'
import animals from './migrations/001-animals.ts'
import apiKeys from './migrations/002-api-keys.ts'
import idempotencyKeys from './migrations/003-idempotency-keys.ts'
import pagesByStatus from './migrations/004-pages-by-status.ts'
import type { Pool } from './pool.ts'

const MIGRATIONS = [animals, apiKeys, idempotencyKeys, pagesByStatus]

export const LATEST_SCHEMA = MIGRATIONS.length

const TABLES = ['animals', 'api_keys', 'idempotency_keys']

/** Long enough for a migration that rewrites millions of rows. */
const MIGRATION_TIMEOUT_MS = 60 * 60 * 1000

const UNDEFINED_TABLE = '42P01'

// "create table if not exists" fails with one of these if two instances run it at the same moment.
const DUPLICATES = new Set(['23505', '42P07', '42710'])
const ATTEMPTS = 10

/** Several instances may start at the same time: each step locks the one row of the version table. */
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
      `The PostgreSQL database has schema ${version}, newer than ${LATEST_SCHEMA}, the newest that this version of animal-store knows: start a newer one.`,
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

/** Locks the schema until the transaction ends, and returns its version. */
export async function lockSchema(client: ClientBase): Promise<number> {
  const { rows } = await client.query('select version from animal_store_schema where id = 1 for update')
  return rows[0].version
}

/** Runs one migration. Creates the version table before the first one, in the same transaction. */
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
  await client.query({ text: sql, query_timeout: MIGRATION_TIMEOUT_MS } as QueryConfig)
  await client.query('update animal_store_schema set version = $1 where id = 1', [version + 1])
  return version + 1
}

/** Only reads, so that a database that is up to date needs no right to change its schema. */
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
