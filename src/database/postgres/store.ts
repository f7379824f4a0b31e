// The Store on PostgreSQL, shared by any number of instances. It needs no session state, advisory locks or notifications,
// so that it works through a pooler and on databases that are compatible with PostgreSQL.

import type { ClientBase } from 'pg'
import { isActive } from '../../api-key.ts'
import type { Clock } from '../../clock.ts'
import { IDEMPOTENCY_WINDOW_MS, type Store, UnusableDatabase, type Warn } from '../../store.ts'
import { keyValues, toKey } from '../rows.ts'
import { createAnimalReads } from './animal-reads.ts'
import { createAnimals } from './create-animals.ts'
import { createKeyLookups } from './key-lookups.ts'
import { DEFAULT_CONNECTIONS, type Timeouts } from './limits.ts'
import { migrate, withSchemaLock } from './migrate.ts'
import { openPool, type Pool } from './pool.ts'
import { createReadiness } from './readiness.ts'
import { describeFailure, retryWhileStarting } from './start.ts'
import * as sql from './statements.ts'
import { parsePostgresUrl } from './url.ts'

export interface PostgresStoreOptions {
  readonly url: string
  readonly clock: Clock
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
  connections = DEFAULT_CONNECTIONS,
  timeouts,
  waitMs,
  onWait = () => {},
  warn = () => {},
}: PostgresStoreOptions): Promise<Store> {
  const pool = openPool(url, { connections, timeouts, warn })
  try {
    if (waitMs === undefined) await prepareDatabase(pool, warn)
    else
      await retryWhileStarting(() => pool.checkWritable().then(() => prepareDatabase(pool, warn)), {
        waitMs,
        onWait,
        minAttempts: parsePostgresUrl(url).urls.length,
      })
  } catch (error) {
    await pool.close()
    if (error instanceof UnusableDatabase) throw error
    throw new UnusableDatabase(`The PostgreSQL database cannot be used: ${describeFailure(error)}.`, {
      cause: error,
    })
  }

  const readiness = createReadiness(pool)

  return {
    ...createAnimalReads(pool, warn),

    revision: () => undefined,

    createAnimals: creations => readiness.runCreation(() => createAnimals(pool, creations, clock())),

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

    rotateKey(id, successor, expiresAt) {
      return pool.transact(async (client: ClientBase) => {
        const { rows } = await client.query(sql.LOCK_KEY, [id, successor.environment])
        if (rows.length === 0 || !isActive(toKey(rows[0]), successor.createdAt.getTime())) return false
        await client.query(sql.INSERT_KEY, keyValues(successor))
        await client.query(sql.EXPIRE_KEY, [expiresAt.getTime(), id, successor.environment])
        return true
      })
    },

    ping: readiness.ping,

    close: () => pool.close(),
  }
}

async function prepareDatabase(pool: Pool, warn: Warn): Promise<void> {
  const { rows } = await pool.query('show server_encoding')
  if (rows[0].server_encoding !== 'UTF8') {
    throw new UnusableDatabase('The PostgreSQL database must have the encoding UTF8.')
  }
  await migrate(pool, warn)
}
