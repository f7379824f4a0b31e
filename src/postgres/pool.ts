// Connections to PostgreSQL: every wait is bounded, and whatever cuts us off from it is `unavailable`.

import pg from 'pg'
import { ServiceError } from '../error.ts'

/** Together well under the 3 seconds in which a request is to be answered. */
const CONNECT_MS = 800
const QUERY_MS = 1_900

const MAX_CONNECTIONS = 10

/** Connections are renewed now and then, so that after a failover none stays with a server that was demoted. */
const MAX_LIFETIME_SECONDS = 300

const INT8 = 20

export interface Pool {
  query(sql: string, values?: readonly unknown[]): Promise<pg.QueryResult>
  /** Runs the work in a transaction; a connection that fails in it is not used again. */
  transact<Result>(work: (client: pg.ClientBase) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

export function openPool(url: string): Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
    keepAlive: true,
    application_name: 'animal-store',
    // int64 is a bigint; every other type as pg reads it.
    types: {
      getTypeParser: ((oid: number, format: 'text') =>
        oid === INT8 ? BigInt : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
    },
  })
  // An idle connection that breaks is dropped by the pool. Whoever asks next gets a new one.
  pool.on('error', () => {})

  return {
    async query(sql, values) {
      try {
        return await pool.query(sql, values as unknown[])
      } catch (error) {
        throw asServiceError(error)
      }
    },

    async transact(work) {
      let client: pg.PoolClient | undefined
      try {
        client = await pool.connect()
        client.on('error', ignore)
        await client.query('begin')
        const result = await work(client)
        await client.query('commit')
        client.off('error', ignore)
        client.release()
        return result
      } catch (error) {
        // Closing the connection rolls back, also where a rollback could not be sent.
        client?.release(true)
        throw asServiceError(error)
      }
    },

    close: () => pool.end(),
  }
}

// https://www.postgresql.org/docs/current/errcodes-appendix.html: connection, credentials, transaction rolled back
// by the server, resources, object not in the prerequisite state, operator intervention, system error, read-only.
const UNAVAILABLE = /^(08|28|3D|40|53|55|57|58)|^25006$/

/** Everything that the server itself did not report is about the way to it, unless it is a mistake of ours. */
function asServiceError(error: unknown): unknown {
  if (error instanceof ServiceError || error instanceof TypeError || error instanceof RangeError) return error
  if (error instanceof pg.DatabaseError && !UNAVAILABLE.test(error.code ?? '')) return error
  return new ServiceError('unavailable', 'The catalogue cannot be reached right now. Try again shortly.', {
    cause: error,
  })
}

function ignore(): void {}
