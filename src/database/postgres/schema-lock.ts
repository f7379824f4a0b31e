// The lock that migrations, and other steps of which only one may run at a time, take: the one row of the version table.

import type { ClientBase } from 'pg'
import type { Warn } from '../../store.ts'
import type { Pool } from './pool.ts'

/**
 * A migration that rewrites many rows may take hours, and so may the wait for another instance that runs it. This is the
 * longest time that a timer can have: 24 days.
 */
export const NO_TIMEOUT_MS = 2 ** 31 - 1

/** After this time a message says that the schema is locked. */
const LOCK_NOTICE_MS = 1_000

/** Runs the work in a transaction that holds the schema lock. Waits without limit while another instance holds it. */
export function withSchemaLock<Result>(
  pool: Pool,
  warn: Warn,
  work: (client: ClientBase) => Promise<Result>,
): Promise<Result> {
  return pool.transact(async client => {
    await warnWhileLocked(warn, () => lockSchema(client))
    return work(client)
  })
}

/** Locks the schema until the transaction ends, and returns its version. */
export async function lockSchema(client: ClientBase): Promise<number> {
  const [row] = await runWithoutTimeouts(
    client,
    'select version from animal_store_schema where id = 1 for update',
  )
  return row?.[0] as number
}

/** Returns rows as arrays. The server may have time-outs of its own, for statements and for locks. */
export async function runWithoutTimeouts(
  client: ClientBase,
  text: string,
  values: readonly unknown[] = [],
): Promise<unknown[][]> {
  await client.query('set local statement_timeout = 0; set local lock_timeout = 0')
  const config = { text, values: [...values], rowMode: 'array' as const, query_timeout: NO_TIMEOUT_MS }
  const { rows } = await client.query<unknown[]>(config)
  return rows
}

export async function warnWhileLocked<Result>(warn: Warn, work: () => Promise<Result>): Promise<Result> {
  const message = 'Another instance has locked the database schema. Waiting until it is done.'
  const timer = setTimeout(warn, LOCK_NOTICE_MS, message)
  try {
    return await work()
  } finally {
    clearTimeout(timer)
  }
}
