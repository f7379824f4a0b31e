// Brings a database to the schema this version knows. Forward only, each step in a transaction of its own.

import type { ClientBase, QueryConfig } from 'pg'
import { UnusableDatabase } from '../store.ts'
import animals from './migrations/001-animals.ts'
import apiKeys from './migrations/002-api-keys.ts'
import idempotencyKeys from './migrations/003-idempotency-keys.ts'
import type { Pool } from './pool.ts'

const MIGRATIONS = [animals, apiKeys, idempotencyKeys]

export const LATEST_SCHEMA = MIGRATIONS.length

const MIGRATION_MS = 60 * 60 * 1000

const UNDEFINED_TABLE = '42P01'
const DUPLICATES = new Set(['23505', '42P07', '42710'])

/** Safe when many instances start at once: the one row of the version table is locked for each step. */
export async function migrate(pool: Pool): Promise<void> {
  // Where nothing is to be done, no right to do it is needed.
  let version = await currentVersion(pool)
  if (version === LATEST_SCHEMA) return
  if (version === undefined) {
    await prepareVersionTable(pool)
    version = await pool.transact(lockSchema)
  }
  if (version > LATEST_SCHEMA) {
    throw new UnusableDatabase(
      `The database has schema ${version}, newer than ${LATEST_SCHEMA}, the newest this version knows: start a newer animal-store.`,
    )
  }
  while (version < LATEST_SCHEMA) version = await pool.transact(step)
}

async function currentVersion(pool: Pool): Promise<number | undefined> {
  try {
    const { rows } = await pool.query('select version from animal_store_schema where id = 1')
    return rows[0]?.version
  } catch (error) {
    if ((error as { code?: unknown }).code === UNDEFINED_TABLE) return undefined
    throw error
  }
}

/** Takes the lock that keeps instances apart until the transaction ends; returns the schema's version. */
export async function lockSchema(client: ClientBase): Promise<number> {
  const { rows } = await client.query('select version from animal_store_schema where id = 1 for update')
  return rows[0].version
}

async function step(client: ClientBase): Promise<number> {
  const version = await lockSchema(client)
  const sql = MIGRATIONS[version]
  if (sql === undefined) return version
  // However long it takes: a later step may have to go through millions of rows.
  await client.query({ text: sql, query_timeout: MIGRATION_MS } as QueryConfig)
  await client.query('update animal_store_schema set version = $1 where id = 1', [version + 1])
  return version + 1
}

/** "if not exists" does not exclude two at once: the loser is told that it exists, and that is all it wanted. */
async function prepareVersionTable(pool: Pool): Promise<void> {
  try {
    await pool.query(
      'create table if not exists animal_store_schema (id integer primary key, version integer not null)',
    )
  } catch (error) {
    if (!DUPLICATES.has(String((error as { code?: unknown }).code))) throw error
  }
  await pool.query('insert into animal_store_schema (id, version) values (1, 0) on conflict (id) do nothing')
}
