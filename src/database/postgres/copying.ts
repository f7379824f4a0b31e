// PostgreSQL as the source or the target of a copy. The tables of the source are locked against writes, and the target is filled in one
// transaction.

import type { ClientBase } from 'pg'
import { searchName } from '../../animal.ts'
import { UnusableDatabase, type Warn } from '../../store.ts'
import type { IdempotencyRow, Snapshot, Target } from '../copy-database.ts'
import { describeOtherSchema } from '../other-schema.ts'
import { keyValues, toAnimal, toKey } from '../rows.ts'
import { databaseError } from './errors.ts'
import { currentVersion, LATEST_SCHEMA, LOCK_NOT_AVAILABLE } from './migrate.ts'
import { openPool, type Pool } from './pool.ts'
import { prepareDatabase } from './postgres-store.ts'
import * as sql from './statements.ts'
import { COMMAND_TIMEOUTS } from './timeouts.ts'
import { parsePostgresUrl } from './url.ts'
import { describeConnectFailure } from './wait-for-server.ts'

/** Every write waits behind a lock that waits, so one wait is short. */
const LOCK_TIMEOUT_MS = 1_000
const ALL_LOCKS_TIMEOUT_MS = 60_000

interface CopyingOptions {
  readonly url: string
  readonly signal: AbortSignal
  readonly say: Warn
}

/** Runs the work with a snapshot of the tables, while nobody can write to them. Migrates nothing. */
export function withPostgresSnapshot<Result>(
  options: CopyingOptions,
  work: (snapshot: Snapshot) => Promise<Result>,
): Promise<Result> {
  const name = nameOf(options)
  return withPool(options, async pool => {
    const version = await currentVersion(pool)
    if (version !== LATEST_SCHEMA)
      throw new UnusableDatabase(`The database ${name} ${describeOtherSchema(version, LATEST_SCHEMA)}.`)
    // The snapshot is that of the first statement after the lock.
    const lock = { isolation: 'repeatable read', mode: 'share' } as const
    return transact(pool, lock, options.signal, client => work(snapshotOf(client)))
  })
}

function snapshotOf(client: ClientBase): Snapshot {
  return {
    listAnimals: (start, limit) => listAnimals(client, start, limit),
    async lastId() {
      const [row] = await rows(client, sql.LARGEST_GIVEN_ID, [])
      return (row?.[0] ?? 0n) as bigint
    },
    async listKeys() {
      return (await client.query(sql.LIST_ALL_KEYS)).rows.map(toKey)
    },
    listIdempotencyKeys: async (scope, key, limit) =>
      (await rows(client, sql.LIST_IDEMPOTENCY_KEYS, [scope, key, limit])) as unknown as IdempotencyRow[],
  }
}

/**
 * Creates or migrates the tables, and runs the work in a transaction. If it fails, the tables hold nothing of it. Throws an
 * UnusableDatabase if they have animals or keys.
 */
export function fillPostgres<Result>(
  options: CopyingOptions,
  work: (target: Target) => Promise<Result>,
): Promise<Result> {
  const name = nameOf(options)
  return withPool(options, async pool => {
    // Before anything is written to it.
    if ((await currentVersion(pool)) > 0) await requireEmpty(pool.query, name)
    await prepareDatabase(pool, true, options.say)
    // The trigger of the inventory merges its rows only in this isolation level.
    const lock = { isolation: 'read committed', mode: 'exclusive' } as const
    return transact(pool, lock, options.signal, async client => {
      await requireEmpty((text, values = []) => client.query(text, [...values]), name)
      // Left by animals and keys that are gone.
      await client.query('delete from idempotency_keys')
      return work(targetOf(client))
    })
  })
}

function targetOf(client: ClientBase): Target {
  const insert = (text: string, table: readonly (readonly unknown[])[], columns: number) =>
    client.query(
      text,
      Array.from({ length: columns }, (_, column) => table.map(row => row[column])),
    )
  return {
    listAnimals: (start, limit) => listAnimals(client, start, limit),
    async addAnimals(animals) {
      const table = animals.map(({ id, name, categoryId, status = null }) => [
        id,
        name,
        categoryId,
        status,
        searchName(name),
      ])
      await insert(sql.COPY_ANIMALS, table, 5)
    },
    async addKeys(keys) {
      for (const key of keys) await client.query(sql.INSERT_KEY, keyValues(key))
    },
    async addIdempotencyKeys(keys) {
      await insert(sql.COPY_IDEMPOTENCY_KEYS, keys, 7)
    },
    async complete(lastId) {
      // Not undone if the transaction fails. Then some ids are never given.
      await client.query(sql.ADVANCE_IDS, [lastId])
      // Otherwise the first minute has the plans of empty tables.
      await client.query('analyze animals')
    },
  }
}

async function listAnimals(client: ClientBase, start: bigint, limit: number) {
  return (
    await rows(client, sql.listStatement({ isBackward: false, status: undefined }), [start, limit])
  ).map(toAnimal)
}

async function rows(client: ClientBase, text: string, values: readonly unknown[]): Promise<unknown[][]> {
  const result = await client.query<unknown[]>({ text, values: [...values], rowMode: 'array' })
  return result.rows
}

/** The tables may have an older schema. */
async function requireEmpty(query: Pool['query'], name: string): Promise<void> {
  for (const [table, what] of [
    ['animals', 'animals'],
    ['api_keys', 'keys'],
  ] as const) {
    const { rows: tables } = await query('select where to_regclass($1) is not null', [table])
    if (tables.length === 0) continue
    if ((await query(`select from ${table} limit 1`)).rows.length > 0)
      throw new UnusableDatabase(`The database ${name} has ${what} already. Copy to a new one.`)
  }
}

interface Lock {
  readonly isolation: 'repeatable read' | 'read committed'
  readonly mode: 'share' | 'exclusive'
}

/** Runs the work in a transaction that holds the lock. */
async function transact<Result>(
  pool: Pool,
  lock: Lock,
  signal: AbortSignal,
  work: (client: ClientBase) => Promise<Result>,
): Promise<Result> {
  const outcome = await pool.withClient(async client => {
    try {
      await begin(client, lock, signal)
      const result = await work(client)
      await client.query('commit')
      return { result }
    } catch (error) {
      // Any other error may be one of the connection, which the pool closes then.
      if (!(error instanceof UnusableDatabase) && !signal.aborted) throw error
      await client.query('rollback').catch(() => {})
      return { error }
    }
  })
  if ('error' in outcome) throw outcome.error
  return outcome.result
}

async function begin(client: ClientBase, { isolation, mode }: Lock, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + ALL_LOCKS_TIMEOUT_MS
  for (;;) {
    signal.throwIfAborted()
    await client.query(
      `begin isolation level ${isolation};
       set local statement_timeout = 0;
       set local idle_in_transaction_session_timeout = 0;
       set local lock_timeout = ${LOCK_TIMEOUT_MS}`,
    )
    try {
      await client.query(`lock table animals, api_keys, idempotency_keys in ${mode} mode`)
      return
    } catch (error) {
      if (databaseError(error)?.code !== LOCK_NOT_AVAILABLE || performance.now() > deadline) throw error
      await client.query('rollback')
    }
  }
}

async function withPool<Result>(
  { url, signal, say }: CopyingOptions,
  work: (pool: Pool) => Promise<Result>,
): Promise<Result> {
  const pool = openPool(url, { connections: 1, timeouts: COMMAND_TIMEOUTS, warn: say })
  try {
    return await work(pool)
  } catch (error) {
    // The work may fail because of the other database, which has described its error already.
    if (error instanceof UnusableDatabase || signal.aborted) throw error
    throw new UnusableDatabase(
      `The database ${parsePostgresUrl(url).name} cannot be used: ${describeConnectFailure(error)}.`,
      {
        cause: error,
      },
    )
  } finally {
    await pool.close()
  }
}

function nameOf({ url }: CopyingOptions): string {
  return parsePostgresUrl(url).name
}
