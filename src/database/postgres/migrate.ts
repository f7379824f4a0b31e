// Migrates a database to the latest schema. Migrations run forward only, each in its own transaction.

import type { ClientBase, QueryConfig, QueryResult } from 'pg'
import { UnusableDatabase, type Warn } from '../../store.ts'
import { databaseError } from './errors.ts'
import animals from './migrations/001-animals.ts'
import apiKeys from './migrations/002-api-keys.ts'
import idempotencyKeys from './migrations/003-idempotency-keys.ts'
import pagesByStatus from './migrations/004-pages-by-status.ts'
import type { Pool } from './pool.ts'

const MIGRATIONS = [animals, apiKeys, idempotencyKeys, pagesByStatus]

export const LATEST_SCHEMA = MIGRATIONS.length

const TABLES = ['animals', 'api_keys', 'idempotency_keys']

/**
 * A migration that rewrites many rows may take hours, and so may the wait for another instance that runs it. This is the
 * longest time that a timer can have: 24 days.
 */
const NO_TIMEOUT_MS = 2 ** 31 - 1

/** After this time a message says that the schema is locked. */
const LOCK_NOTICE_MS = 1_000

const UNDEFINED_TABLE = '42P01'

// "create table if not exists" fails with one of these if two instances run it at the same moment.
const DUPLICATES = new Set(['23505', '42P07', '42710'])
const ATTEMPTS = 10

/** Several instances may start at the same time: each step locks the one row of the version table. */
export async function migrate(pool: Pool, create: boolean, warn: Warn): Promise<void> {
  let version = await currentVersion(pool)
  if (version === 0 && !create)
    throw new UnusableDatabase(
      'The PostgreSQL database has no tables yet. Start the service, or run animal-store migrate.',
    )
  for (let attempt = 1; version < LATEST_SCHEMA; attempt++) {
    try {
      version = await pool.transact(client => step(client, warn))
    } catch (error) {
      if (attempt > ATTEMPTS || !DUPLICATES.has(codeOf(error))) throw error
      version = await currentVersion(pool)
    }
  }
  if (version > LATEST_SCHEMA) {
    throw new UnusableDatabase(
      `The PostgreSQL database has schema ${version}, newer than ${LATEST_SCHEMA}, the newest that this version knows: install a newer version of animal-store.`,
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

/** Runs the work in a transaction that holds the schema lock. Waits without limit while another instance holds it. */
export function withSchemaLock<Result>(
  pool: Pool,
  warn: Warn,
  work: (client: ClientBase) => Promise<Result>,
): Promise<Result> {
  return pool.transact(async client => {
    await warnIfSlow(warn, () => lockSchema(client))
    return work(client)
  })
}

/** Runs one migration. Creates the version table before the first one, in the same transaction. */
async function step(client: ClientBase, warn: Warn): Promise<number> {
  const version = await warnIfSlow(warn, async () => {
    await runUnlimited(
      client,
      `create table if not exists animal_store_schema (id integer primary key, version integer not null);
       insert into animal_store_schema (id, version) values (1, 0) on conflict (id) do nothing`,
    )
    return lockSchema(client)
  })
  const sql = MIGRATIONS[version]
  if (sql === undefined) return version
  await runUnlimited(client, sql)
  await client.query('update animal_store_schema set version = $1 where id = 1', [version + 1])
  return version + 1
}

/** Locks the schema until the transaction ends, and returns its version. */
async function lockSchema(client: ClientBase): Promise<number> {
  const { rows } = await runUnlimited(
    client,
    'select version from animal_store_schema where id = 1 for update',
  )
  return rows[0].version
}

/** The server may have time-outs of its own, for statements and for locks. */
async function runUnlimited(client: ClientBase, text: string): Promise<QueryResult> {
  await client.query('set local statement_timeout = 0; set local lock_timeout = 0')
  return client.query({ text, query_timeout: NO_TIMEOUT_MS } as QueryConfig)
}

async function warnIfSlow<Result>(warn: Warn, work: () => Promise<Result>): Promise<Result> {
  const message = 'Another instance has locked the database schema. Waiting until it is done.'
  const timer = setTimeout(warn, LOCK_NOTICE_MS, message)
  try {
    return await work()
  } finally {
    clearTimeout(timer)
  }
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
  return databaseError(error)?.code ?? ''
}
