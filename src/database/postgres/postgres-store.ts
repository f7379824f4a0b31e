// The Store on PostgreSQL, shared by any number of instances. It needs no session state, advisory locks or notifications,
// so that it works through a pooler and on databases that are compatible with PostgreSQL.

import type { QueryResult } from 'pg'
import type { Clock } from '../../clock.ts'
import { unavailable } from '../../error.ts'
import { IDEMPOTENCY_WINDOW_MS } from '../../idempotency.ts'
import { INT64_MAX } from '../../int64.ts'
import { type Store, UnusableDatabase, type Warn } from '../../store.ts'
import { keyValues, toKey } from '../rows.ts'
import { ReadOnlyError, sequenceBehind } from './errors.ts'
import { migrate } from './migrate.ts'
import { openPool, type Pool } from './pool.ts'
import { createAnimalReads, createKeyLookups } from './reads.ts'
import { repairDerivedData } from './repair.ts'
import { withSchemaLock } from './schema-lock.ts'
import * as sql from './statements.ts'
import { DEFAULT_CONNECTIONS, REQUEST_TIMEOUTS, type Timeouts } from './timeouts.ts'
import { parsePostgresUrl } from './url.ts'
import { describeConnectFailure, retryWhileStarting } from './wait-for-server.ts'
import { createWrites } from './write-animals.ts'

export interface PostgresStoreOptions {
  readonly url: string
  readonly clock: Clock
  /** Create the tables if there are none. */
  readonly create: boolean
  /** How many connections the store opens at most. */
  readonly connections?: number | undefined
  /** The default is REQUEST_TIMEOUTS. */
  readonly timeouts?: Timeouts | undefined
  /**
   * Wait this long for a server that is unreachable or read-only. If undefined, the first failure is final, and a
   * read-only server is accepted.
   */
  readonly waitMs?: number | undefined
  /** Called with each new reason to wait. */
  readonly onWait?: (reason: string) => void
  readonly warn?: Warn | undefined
}

/** Connects and migrates. Throws an UnusableDatabase if the database cannot be used. */
export async function openPostgresStore({
  url,
  clock,
  create,
  connections = DEFAULT_CONNECTIONS,
  timeouts = REQUEST_TIMEOUTS,
  waitMs,
  onWait = () => {},
  warn = () => {},
}: PostgresStoreOptions): Promise<Store> {
  const pool = openPool(url, { connections, timeouts, warn })
  try {
    const prepare = () => prepareDatabase(pool, create, warn)
    if (waitMs === undefined) await prepare()
    else
      await retryWhileStarting(() => pool.checkWritable().then(prepare), {
        waitMs,
        onWait,
        minAttempts: parsePostgresUrl(url).urls.length,
      })
  } catch (error) {
    await pool.close()
    if (error instanceof UnusableDatabase) throw error
    throw new UnusableDatabase(`The PostgreSQL database cannot be used: ${describeConnectFailure(error)}.`, {
      cause: error,
    })
  }

  return {
    ...createAnimalReads(pool, warn),

    revision: () => undefined,

    write: createWrites(pool, clock, warn),

    async deleteExpiredIdempotencyKeys(limit) {
      const { rowCount } = await pool.query(sql.DELETE_EXPIRED_IDEMPOTENCY_KEYS, [
        clock() - IDEMPOTENCY_WINDOW_MS,
        limit,
      ])
      return rowCount ?? 0
    },

    findKey: createKeyLookups(pool),

    async listKeys(environment) {
      const { rows } = await pool.query(sql.LIST_KEYS, [environment])
      return rows.map(toKey)
    },

    async createKey(key) {
      await pool.query(sql.INSERT_KEY, keyValues(key))
    },

    async createFirstKey(key) {
      // Usually a key already exists, and checking that needs no lock.
      if ((await pool.query(sql.HAS_KEYS, [key.environment])).rows.length > 0) return false
      return withSchemaLock(pool, warn, async client => {
        const { rows } = await client.query(sql.HAS_KEYS, [key.environment])
        if (rows.length > 0) return false
        await client.query(sql.INSERT_KEY, keyValues(key))
        return true
      })
    },

    async revokeKey(id, environment, at) {
      const { rows } = await pool.query(sql.REVOKE_KEY, [at.getTime(), id, environment])
      return rows[0] && toKey(rows[0])
    },

    rotateKey: (id, successor, at) =>
      pool.transact(async client => {
        // Another rotation of the same key waits here. Each statement sees what was committed before it.
        await client.query(sql.LOCK_KEY, [id])
        const values = [at.getTime(), id, successor.environment]
        const { rowCount } = await client.query(sql.EXPIRE_ROTATED_KEY, values)
        if (rowCount === 0) return false
        await client.query(sql.INSERT_KEY, keyValues(successor))
        return true
      }),

    async storeKeyUses(ids, day) {
      await pool.query(sql.STORE_KEY_USES, [ids, day])
    },

    repairDerivedData: onProgress => repairDerivedData(pool, warn, onProgress),

    ping: () => ping(pool),

    close: () => pool.close(),
  }
}

/** Checks the encoding, and migrates. */
export async function prepareDatabase(pool: Pool, create: boolean, warn: Warn): Promise<void> {
  const { rows } = await pool.query('show server_encoding')
  if (rows[0].server_encoding !== 'UTF8') {
    throw new UnusableDatabase('The PostgreSQL database must have the encoding UTF8.')
  }
  await migrate(pool, create, warn)
}

interface PingRow {
  readonly read_only: string
  readonly may_write: boolean
  readonly last_id: bigint | null
}

/** Checks what every request needs: the tables, the privileges, and the sequence that assigns ids. */
async function ping(pool: Pool): Promise<void> {
  const { may_write, last_id } = await pool.withClient(async client => {
    // One round trip for several statements, of which only the last one's result matters.
    const results = (await client.query(sql.PING)) as unknown as QueryResult<PingRow>[]
    const row = results.at(-1)?.rows[0]
    if (row?.read_only !== 'off') throw new ReadOnlyError('the database is read-only')
    return row
  })
  if (!may_write)
    throw unavailable({ cause: new Error('a privilege to create, change or remove animals is missing') })
  if (await isNextIdTaken(pool, last_id)) throw sequenceBehind()
}

/** If the sequence has moved meanwhile, the next animal got its id from the sequence. */
async function isNextIdTaken(pool: Pool, lastId: bigint | null): Promise<boolean> {
  if (lastId === null || lastId === INT64_MAX) return false
  if ((await pool.rows(sql.FIND_ANIMAL, [lastId + 1n])).length === 0) return false
  const [row] = await pool.rows(sql.LAST_ID, [])
  return row?.[0] === lastId
}
