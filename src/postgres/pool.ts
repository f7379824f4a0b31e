// Connections to PostgreSQL: every wait is bounded, and whatever cuts us off from it is `unavailable`.

import { connect } from 'node:net'
import pg from 'pg'
import { ServiceError, unavailable } from '../error.ts'

/** What a request may meet in turn: a full pool or a new connection, and then its statement. */
const CONNECT_MS = 500
const QUERY_MS = 1_200

const MAX_CONNECTIONS = 10

/** Connections are renewed now and then, so that after a failover none stays with a server that was demoted. */
const MAX_LIFETIME_SECONDS = 300

const INT8 = 20

/** Every value as the server wrote it. */
const AS_WRITTEN = { getTypeParser: () => (text: string) => text }

export interface Pool {
  query(sql: string, values?: readonly unknown[]): Promise<pg.QueryResult>
  /** The rows as arrays of values, which are made faster. */
  rows(sql: string, values: readonly unknown[]): Promise<unknown[][]>
  /** The same, with every value as text. */
  texts(sql: string, values: readonly unknown[]): Promise<(string | null)[][]>
  /** Runs the work in a transaction; a connection that fails in it is not used again. */
  transact<Result>(work: (client: pg.ClientBase) => Promise<Result>): Promise<Result>
  /** Resolves if the database answers and can be written. */
  ping(): Promise<void>
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

  const madeAt = new WeakMap<pg.ClientBase, number>()
  let lastReadOnly = 0
  pool.on('connect', client => {
    madeAt.set(client, performance.now())
    // Of one that breaks while it is lent, its query tells.
    client.on('error', ignore)
  })

  /** A connection that is older than the last word of being read-only may be to a server that was demoted. */
  async function take(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await pool.connect()
      if ((madeAt.get(client) ?? 0) >= lastReadOnly) return client
      client.release(true)
    }
  }

  /** Lends a connection to the work. It is not used again unless all that failed was our statement. */
  async function lend<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    let client: pg.PoolClient | undefined
    try {
      client = await take()
      const result = await work(client)
      client.release()
      return result
    } catch (error) {
      const outcome = asServiceError(error)
      if (client !== undefined && !(error instanceof pg.DatabaseError)) cancel(client)
      if (isReadOnly(error)) lastReadOnly = performance.now()
      client?.release(outcome instanceof ServiceError)
      throw outcome
    }
  }

  async function rowsOf<Value>(config: pg.QueryArrayConfig): Promise<Value[][]> {
    const { rows } = await lend(client => client.query<Value[]>(config))
    return rows
  }

  return {
    query: (sql, values) => lend(client => client.query(sql, values as unknown[])),

    rows: (text, values) => rowsOf({ text, values: values as unknown[], rowMode: 'array' }),

    texts: (text, values) =>
      rowsOf({ text, values: values as unknown[], rowMode: 'array', types: AS_WRITTEN }),

    transact: work =>
      lend(async client => {
        await client.query('begin')
        try {
          const result = await work(client)
          await client.query('commit')
          return result
        } catch (error) {
          // Where the server did not speak the connection is closed, which rolls back as well.
          if (error instanceof pg.DatabaseError) await client.query('rollback')
          throw error
        }
      }),

    ping: () =>
      lend(async client => {
        const { rows } = await client.query("select current_setting('transaction_read_only') as read_only")
        if (rows[0].read_only === 'on') throw new ReadOnly('the database is read-only')
      }),

    close: () => pool.end(),
  }
}

/**
 * Asks the server to give up what a connection is doing. A statement that we no longer wait for would else go on, hold
 * its place on the server, and might store what its sender was told is not stored. The request is a connection of its
 * own with 16 bytes, so that it goes through a pooler as well.
 */
function cancel(client: pg.PoolClient): void {
  const { host, port, processID, secretKey } = client as unknown as Cancellable
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return
  const message = Buffer.alloc(16)
  for (const [index, value] of [16, 80_877_102, processID, secretKey].entries())
    message.writeInt32BE(value, index * 4)
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  socket.setTimeout(CONNECT_MS, () => socket.destroy())
  socket.on('error', ignore)
  socket.end(message)
}

/** What pg knows of a connection, and its types do not. */
interface Cancellable {
  readonly host: string
  readonly port: number
  readonly processID: unknown
  readonly secretKey: unknown
}

// https://www.postgresql.org/docs/current/errcodes-appendix.html: connection, credentials, transaction rolled back
// by the server, resources, object not in the prerequisite state, operator intervention, system error, read-only.
const UNAVAILABLE = /^(08|28|3D|40|53|55|57|58)|^25(006|P03|P04)$/

/** Everything that the server itself did not report is about the way to it, unless it is a mistake of ours. */
function asServiceError(error: unknown): unknown {
  if (error instanceof ServiceError || error instanceof TypeError || error instanceof RangeError) return error
  if (error instanceof pg.DatabaseError && !isFatal(error) && !UNAVAILABLE.test(error.code ?? ''))
    return error
  return unavailable(error)
}

class ReadOnly extends Error {}

function isReadOnly(error: unknown): boolean {
  return error instanceof ReadOnly || (error instanceof pg.DatabaseError && error.code === '25006')
}

/** The server has ended the connection with it. */
function isFatal({ severity }: pg.DatabaseError): boolean {
  return severity === 'FATAL' || severity === 'PANIC'
}

function ignore(): void {}
