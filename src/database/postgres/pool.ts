// Connections to PostgreSQL. Every wait has a time-out, and every failure to reach the server is `unavailable`.

import pg from 'pg'
import { ServiceError, unavailable } from '../../error.ts'
import type { Warn } from '../../store.ts'
import { cancelQuery } from './cancel.ts'
import { isCancelledStandbyWait, isConnectionError, isReadOnly, toServiceError } from './errors.ts'
import { checkWritable, createHosts } from './hosts.ts'
import { REQUEST_TIMEOUTS, type Timeouts } from './limits.ts'
import { createPreparedStatements } from './prepared.ts'
import { parsePostgresUrl } from './url.ts'

/** Connections are replaced after this time, so that after a failover none stays connected to the demoted server. */
const MAX_LIFETIME_SECONDS = 300

const INT8_OID = 20

/** Leaves every value as the text that the server sent. */
const AS_TEXT = { getTypeParser: () => (text: string) => text }

export interface Pool {
  readonly timeouts: Timeouts
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

export interface PoolOptions {
  /** How many connections the pool opens at most. */
  readonly connections: number
  /** The default is REQUEST_TIMEOUTS. */
  readonly timeouts?: Timeouts | undefined
  readonly warn: Warn
}

export function openPool(url: string, { connections, timeouts = REQUEST_TIMEOUTS, warn }: PoolOptions): Pool {
  const hosts = createHosts(parsePostgresUrl(url).urls)
  const pool = new pg.Pool({
    Client: hosts.Client,
    max: connections,
    connectionTimeoutMillis: timeouts.connectMs,
    query_timeout: timeouts.statementMs,
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
  const answeredAt = new WeakMap<pg.ClientBase, number>()
  let lastReadOnlyAt = 0
  let lastTimeoutStart = 0
  pool.on('connect', client => {
    connectedAt.set(client, performance.now())
    answeredAt.set(client, performance.now())
    // If a connection breaks while it is in use, its query rejects.
    client.on('error', ignore)
    client.on('notice', notice => {
      if (isCancelledStandbyWait(notice)) unreplicated.add(client)
    })
  })

  /**
   * A connection that was opened before the last read-only error may lead to a demoted server. A connection that has
   * not answered since the start of the last statement that timed out may lead to the server that hangs.
   */
  function isSuspect(client: pg.PoolClient): boolean {
    return (connectedAt.get(client) ?? 0) < lastReadOnlyAt || (answeredAt.get(client) ?? 0) < lastTimeoutStart
  }

  /** Tries each host once, as long as the time-out allows. */
  async function acquire(): Promise<pg.PoolClient> {
    const deadline = performance.now() + timeouts.allHostsMs
    for (let attempt = 1; ; ) {
      let client: pg.PoolClient | undefined
      try {
        client = await pool.connect()
        if (!isSuspect(client)) {
          await hosts.check(client)
          return client
        }
        client.release(true)
      } catch (error) {
        if (client !== undefined) hosts.skip(client)
        client?.release(true)
        if (attempt++ >= hosts.count || performance.now() >= deadline) throw error
      }
    }
  }

  /** Runs the work with a connection. If the work fails with `unavailable`, the connection is not reused. */
  async function withClient<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    let client: pg.PoolClient | undefined
    let startedAt = 0
    try {
      client = await acquire()
      startedAt = performance.now()
      const result = await work(client)
      answeredAt.set(client, performance.now())
      if (unreplicated.has(client))
        throw unavailable(new Error('the wait for a synchronous standby was cancelled'))
      client.release()
      return result
    } catch (cause) {
      const error = toServiceError(cause)
      if (client !== undefined && isConnectionError(cause)) {
        // After a time-out the server would continue the statement, and might store what was reported as failed.
        cancelQuery(client, timeouts.connectMs)
        lastTimeoutStart = Math.max(lastTimeoutStart, startedAt)
        hosts.skip(client)
      }
      if (isReadOnly(cause)) lastReadOnlyAt = performance.now()
      client?.release(error instanceof ServiceError)
      throw error
    }
  }

  const sendPrepared = createPreparedStatements(warn)

  function run(config: pg.QueryConfig): Promise<pg.QueryResult> {
    return sendPrepared(config, named => withClient(client => client.query(named)))
  }

  async function queryRows<Value>(config: pg.QueryArrayConfig): Promise<Value[][]> {
    const { rows } = (await run(config)) as pg.QueryArrayResult
    return rows as Value[][]
  }

  return {
    timeouts,

    query: (text, values = []) => run({ text, values: values as unknown[] }),

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
          // After a connection error the connection is closed, which rolls back as well. After any other error it may
          // be used again, for example after a TypeError in the work.
          if (!isConnectionError(error)) await client.query('rollback')
          throw error
        }
      }),

    checkWritable: () => withClient(checkWritable),

    withClient,

    close: () => pool.end(),
  }
}

function ignore(): void {}
