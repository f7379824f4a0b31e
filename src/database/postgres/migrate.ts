// Migrates a database to the latest schema. Migrations run forward only, each in its own transaction.

import { setTimeout as delay } from 'node:timers/promises'
import type { ClientBase, QueryConfig } from 'pg'
import { UnusableDatabase, type Warn } from '../../store.ts'
import { describeOtherSchema } from '../other-schema.ts'
import { databaseError } from './errors.ts'
import animals from './migrations/001-animals.ts'
import apiKeys from './migrations/002-api-keys.ts'
import idempotencyKeys from './migrations/003-idempotency-keys.ts'
import pagesByStatus from './migrations/004-pages-by-status.ts'
import searchNames from './migrations/005-search-names.ts'
import inventory from './migrations/006-inventory.ts'
import answers from './migrations/008-answers.ts'
import inventoryOfChanges from './migrations/009-inventory-of-changes.ts'
import keyAccess from './migrations/011-key-access.ts'
import type { Pool } from './pool.ts'
import { correctInventory, fillAnswers, fillSearchNames } from './repair.ts'
import { lockSchema, NO_TIMEOUT_MS, runWithoutTimeouts, warnWhileLocked } from './schema-lock.ts'

interface Migration {
  /** Work that may take long: in transactions of its own, and again from where it was if the process is killed. */
  readonly prepare?: (pool: Pool, warn: Warn) => Promise<unknown>
  readonly run: (client: ClientBase, lockTimeoutMs: number) => Promise<unknown>
}

const runSql = (sql: string) => async (client: ClientBase, lockTimeoutMs: number) => {
  await client.query(`set local lock_timeout = ${lockTimeoutMs}`)
  return client.query({ text: sql, query_timeout: NO_TIMEOUT_MS } as QueryConfig)
}

/**
 * Steps 7 and 10 have no file: they are not SQL. Steps 5 to 11 can run twice: going back to an older version sets the version of the
 * schema back (docs/upgrade.md#back-to-11). The counts are right only once all triggers keep them.
 */
const MIGRATIONS: readonly Migration[] = [
  ...[animals, apiKeys, idempotencyKeys, pagesByStatus, searchNames, inventory].map(sql => ({
    run: runSql(sql),
  })),
  { prepare: fillSearchNames, run: async () => {} },
  { run: runSql(answers) },
  { prepare: fillAnswers, run: runSql(inventoryOfChanges) },
  { run: correctInventory },
  { run: runSql(keyAccess) },
]

export const LATEST_SCHEMA = MIGRATIONS.length

const TABLES = ['animals', 'api_keys', 'idempotency_keys', 'inventory']

const UNDEFINED_TABLE = '42P01'
export const LOCK_NOT_AVAILABLE = '55P03'

/**
 * How long a migration waits for the lock of a table. Every request waits behind it meanwhile, so the wait is short. Every tenth time it
 * is longer: PostgreSQL ends an autovacuum that is in the way after a second.
 */
const lockTimeoutMs = (failures: number) => (failures % 10 === 9 ? 1_100 : 200)
const LOCK_INTERVAL_MS = 1_000

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
  if (version > 0 && version < LATEST_SCHEMA)
    warn(
      `Migrating the PostgreSQL database to schema ${LATEST_SCHEMA}. It goes on at the next start if it is interrupted.`,
    )
  let locked = 0
  for (let attempt = 1; version < LATEST_SCHEMA; ) {
    try {
      await MIGRATIONS[version]?.prepare?.(pool, warn)
      version = await pool.transact(client => step(client, lockTimeoutMs(locked), warn))
    } catch (error) {
      if (codeOf(error) === LOCK_NOT_AVAILABLE) {
        if (locked++ === 0)
          warn('Another transaction uses a table of this database. Trying every second to migrate the table.')
        await delay(LOCK_INTERVAL_MS)
      } else if (attempt++ > ATTEMPTS || !DUPLICATES.has(codeOf(error))) throw error
      version = await currentVersion(pool)
    }
  }
  if (version > LATEST_SCHEMA) {
    throw new UnusableDatabase(`The PostgreSQL database ${describeOtherSchema(version, LATEST_SCHEMA)}.`)
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

/** Runs one migration. Creates the version table before the first one, in the same transaction. */
async function step(client: ClientBase, lockTimeoutMs: number, warn: Warn): Promise<number> {
  const version = await warnWhileLocked(warn, async () => {
    await runWithoutTimeouts(
      client,
      `create table if not exists animal_store_schema (id integer primary key, version integer not null);
       insert into animal_store_schema (id, version) values (1, 0) on conflict (id) do nothing`,
    )
    return lockSchema(client)
  })
  const migration = MIGRATIONS[version]
  if (migration === undefined) return version
  await migration.run(client, lockTimeoutMs)
  await client.query('update animal_store_schema set version = $1 where id = 1', [version + 1])
  return version + 1
}

/** Only reads, so that a database that is up to date needs no right to change its schema. */
export async function currentVersion(pool: Pool): Promise<number> {
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
