// Connections to PostgreSQL. Every wait has a time-out, and every failure to reach the server is `unavailable`.

import pg from 'pg'
import { ServiceError, unavailable } from '../../error.ts'
import { cancelQuery } from './cancel.ts'
import { isCancelledStandbyWait, isReadOnly, ReadOnlyError, toServiceError } from './errors.ts'

/** A request may have to wait for both: a free or new connection, and then its statement. */
const CONNECT_TIMEOUT_MS = 500
const QUERY_TIMEOUT_MS = 1_200

/** Connections are replaced after this time, so that after a failover none stays connected to the demoted server. */
const MAX_LIFETIME_SECONDS = 300

const INT8_OID = 20

/** Leaves every value as the text that the server sent. */
const AS_TEXT = { getTypeParser: () => (text: string) => text }

export interface Pool {
  query(sql: string, values?: readonly unknown[]): Promise<pg.QueryResult>
  /** Returns rows as arrays, which are faster than objects. */
  rows(sql: string, values: readonly unknown[]): Promise<unknown[][]>
  /** Returns rows as arrays of text. */
  textRows(sql: string, values: readonly unknown[]): Promise<(string | null)[][]>
  /** Runs the work in a transaction. */
  transact<Result>(work: (client: pg.ClientBase) => Promise<Result>): Promise<Result>
  /** Rejects if the database does not answer or is read-only. */
  checkWritable(): Promise<void>
  /** Runs the work with a connection of its own. */
  withClient<Result>(work: (client: pg.ClientBase) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

/** The pool opens at most `connections` connections. */
export function openPool(url: string, connections: number): Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
    keepAlive: true,
    application_name: 'animal-store',
    types: {
      getTypeParser: ((oid: number, format: 'text') =>
        oid === INT8_OID ? BigInt : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
    },
  })
  // The pool removes an idle connection that breaks. There is nothing else to do.
  pool.on('error', ignore)

  const connectedAt = new WeakMap<pg.ClientBase, number>()
  /** Connections whose last commit may be missing on the synchronous standby. */
  const unreplicated = new WeakSet<pg.ClientBase>()
  let lastReadOnlyAt = 0
  pool.on('connect', client => {
    connectedAt.set(client, performance.now())
    // If a connection breaks while it is in use, its query rejects.
    client.on('error', ignore)
    client.on('notice', notice => {
      if (isCancelledStandbyWait(notice)) unreplicated.add(client)
    })
  })

  /** Drops connections from before the last read-only error: they may lead to a server that was demoted. */
  async function acquire(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await pool.connect()
      if ((connectedAt.get(client) ?? 0) >= lastReadOnlyAt) return client
      client.release(true)
    }
  }

  /** Runs the work with a connection. After an error of the connection or the server, the connection is not reused. */
  async function withClient<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    let client: pg.PoolClient | undefined
    try {
      client = await acquire()
      const result = await work(client)
      if (unreplicated.has(client))
        throw unavailable(new Error('the wait for a synchronous standby was cancelled'))
      client.release()
      return result
    } catch (cause) {
      const error = toServiceError(cause)
      // After a time-out the server would continue the statement, and might store what was reported as failed.
      if (client !== undefined && !(cause instanceof pg.DatabaseError) && !unreplicated.has(client))
        cancelQuery(client, CONNECT_TIMEOUT_MS)
      if (isReadOnly(cause)) lastReadOnlyAt = performance.now()
      client?.release(error instanceof ServiceError)
      throw error
    }
  }

  async function queryRows<Value>(config: pg.QueryArrayConfig): Promise<Value[][]> {
    const { rows } = await withClient(client => client.query<Value[]>(config))
    return rows
  }

  return {
    query: (sql, values) => withClient(client => client.query(sql, values as unknown[])),

    rows: (text, values) => queryRows({ text, values: values as unknown[], rowMode: 'array' }),

    textRows: (text, values) =>
      queryRows({ text, values: values as unknown[], rowMode: 'array', types: AS_TEXT }),

    transact: work =>
      withClient(async client => {
        await client.query('begin')
        try {
          const result = await work(client)
          await client.query('commit')
          return result
        } catch (error) {
          // After any other error the connection is closed, which rolls back as well.
          if (error instanceof pg.DatabaseError) await client.query('rollback')
          throw error
        }
      }),

    checkWritable: () =>
      withClient(async client => {
        const { rows } = await client.query("select current_setting('transaction_read_only') as read_only")
        if (rows[0].read_only === 'on') throw new ReadOnlyError('the database is read-only')
      }),

    withClient,

    close: () => pool.end(),
  }
}

function ignore(): void {}
