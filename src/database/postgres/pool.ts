// Connections to the hosts of a PostgreSQL URL, and the statements that run on them. Connections go to the host that was
// writable last. If it fails, the next one is tried. Every wait has a time-out, and every failure to reach the server is
// `unavailable`.

import pg from 'pg'
import { ServiceError, unavailable } from '../../error.ts'
import type { Warn } from '../../store.ts'
import { prepareIfSupported } from './compatibility.ts'
import { isConnectionError, isReadOnly, ReadOnlyError, toConnectError, toServiceError } from './errors.ts'
import { COMMAND_TIMEOUTS, type Timeouts } from './timeouts.ts'
import { parsePostgresUrl } from './url.ts'

/** Connections are replaced after this time, so that after a failover none stays connected to the demoted server. */
const MAX_LIFETIME_SECONDS = 300

/**
 * The routine of PostgreSQL that warns if the wait for a synchronous standby was cancelled. PostgreSQL has committed
 * then. The text of the warning depends on the language of the server, the name of the routine does not.
 */
const STANDBY_WAIT = 'SyncRepWaitForLSN'

type ConnectCallback = ((error: Error) => void) | ((error: null, client: pg.Client) => void)

pg.types.setTypeParser(pg.types.builtins.INT8, BigInt)

/** Leaves every value as the text that the server sent. */
const AS_TEXT = { getTypeParser: () => (text: string) => text }

export interface Pool {
  readonly timeouts: Timeouts
  /** Runs the work with a connection. If the work fails with `unavailable`, the connection is not reused. */
  withClient<Result>(work: (client: pg.ClientBase) => Promise<Result>): Promise<Result>
  query(sql: string, values?: readonly unknown[]): Promise<pg.QueryResult>
  /** Returns rows as arrays, which are faster than objects. */
  rows(sql: string, values: readonly unknown[]): Promise<unknown[][]>
  /** Returns rows as arrays of text. */
  textRows(sql: string, values: readonly unknown[]): Promise<(string | null)[][]>
  /** Runs the work in a transaction. */
  transact<Result>(work: (client: pg.ClientBase) => Promise<Result>): Promise<Result>
  /** Rejects if the database does not answer or is read-only. */
  checkWritable(): Promise<void>
  close(): Promise<void>
}

interface PoolOptions {
  /** How many connections the pool opens at most. */
  readonly connections: number
  readonly timeouts: Timeouts
  readonly warn: Warn
}

/** Opens connections when they are needed, and at most `max` at the same time. */
function openConnections(url: string, max: number, timeouts: Timeouts): Pick<Pool, 'withClient' | 'close'> {
  /** One URL for each host. */
  const { urls } = parsePostgresUrl(url)
  let current = 0
  let lastReadOnlyAt = 0
  let lastTimeoutStart = 0

  /** A connection to the host that is current when it is created. */
  class Client extends pg.Client {
    readonly hostIndex = current
    /** The process of the server. Set by pg, whose types do not declare it. */
    declare readonly processID: number | null
    connectedAt = 0
    answeredAt = 0
    /** With several hosts, a connection is used only if its server is writable. */
    isChecked = urls.length === 1
    /** Whether its last commit may be missing on the synchronous standby. */
    isUnreplicated = false

    constructor(config?: pg.ClientConfig) {
      super({ ...config, connectionString: urls[current] })
      // If a connection breaks while it is in use, its query rejects.
      this.on('error', ignore)
      this.on('notice', ({ routine }) => {
        if (routine === STANDBY_WAIT) this.isUnreplicated = true
      })
    }

    /** The pool passes a callback. */
    override connect(): Promise<pg.Client>
    override connect(callback: ConnectCallback): void
    override connect(callback?: ConnectCallback): unknown {
      if (callback === undefined) return super.connect()
      return super.connect((error: Error) => {
        if (error) {
          skipHost(this)
          // pg leaves the connection open after an error of its own. The server would close it after a minute, and no
          // command would end before that.
          void this.end()
        }
        this.connectedAt = this.answeredAt = performance.now()
        ;(callback as (error: Error) => void)(error && toConnectError(error, Boolean(this.password)))
      })
    }
  }

  const pool = new pg.Pool({
    Client,
    max,
    connectionTimeoutMillis: timeouts.connectMs,
    query_timeout: timeouts.statementMs,
    maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
    keepAlive: true,
    application_name: 'animal-store',
  })
  // The pool removes an idle connection that breaks. There is nothing else to do.
  pool.on('error', ignore)

  /** Makes the next host current, unless another connection to the same host has already done so. */
  function skipHost({ hostIndex }: Client): void {
    if (hostIndex === current) current = (current + 1) % urls.length
  }

  /**
   * A connection that was opened before the last read-only error may lead to a demoted server. A connection that has
   * not answered since the start of the last statement that timed out may lead to the server that hangs.
   */
  function isSuspect({ connectedAt, answeredAt }: Client): boolean {
    return connectedAt < lastReadOnlyAt || answeredAt < lastTimeoutStart
  }

  /** Tries each host once, as long as the time-out allows. */
  async function acquire(): Promise<Client & pg.PoolClient> {
    const deadline = performance.now() + timeouts.allHostsMs
    for (let attempt = 1; ; ) {
      let client: (Client & pg.PoolClient) | undefined
      try {
        client = (await pool.connect()) as Client & pg.PoolClient
        if (isSuspect(client)) {
          client.release(true)
          continue
        }
        if (!client.isChecked) await checkWritable(client)
        client.isChecked = true
        return client
      } catch (error) {
        if (client !== undefined) skipHost(client)
        client?.release(true)
        if (attempt++ >= urls.length || performance.now() >= deadline) throw error
      }
    }
  }

  /**
   * After a time-out the server would continue the statement, and might store what was reported as failed. Sent over a
   * new connection, because the server reads nothing else from this one. No client waits for it, so it may take as long
   * as a busy server needs. If it fails, the statement goes on.
   */
  async function cancelStatement({ hostIndex, processID }: Client): Promise<void> {
    const canceller = new pg.Client({
      connectionString: urls[hostIndex],
      connectionTimeoutMillis: COMMAND_TIMEOUTS.connectMs,
      query_timeout: COMMAND_TIMEOUTS.connectMs,
    })
    canceller.on('error', ignore)
    try {
      await canceller.connect()
      await canceller.query('select pg_cancel_backend($1)', [processID])
    } catch {
      // The server cannot be reached.
    }
    await canceller.end().catch(ignore)
  }

  async function withClient<Result>(work: (client: pg.ClientBase) => Promise<Result>): Promise<Result> {
    let client: (Client & pg.PoolClient) | undefined
    let startedAt = 0
    try {
      client = await acquire()
      startedAt = performance.now()
      const result = await work(client)
      client.answeredAt = performance.now()
      if (client.isUnreplicated)
        throw unavailable({ cause: new Error('the wait for a synchronous standby was cancelled') })
      client.release()
      return result
    } catch (cause) {
      const error = toServiceError(cause, client !== undefined)
      if (client !== undefined && isConnectionError(cause)) {
        void cancelStatement(client)
        lastTimeoutStart = Math.max(lastTimeoutStart, startedAt)
        skipHost(client)
      }
      if (isReadOnly(cause)) lastReadOnlyAt = performance.now()
      client?.release(error instanceof ServiceError)
      throw error
    }
  }

  return { withClient, close: () => pool.end() }
}

export function openPool(url: string, { connections, timeouts, warn }: PoolOptions): Pool {
  const { withClient, close } = openConnections(url, connections, timeouts)
  const run = prepareIfSupported(config => withClient(client => client.query(config)), warn)

  async function runForArrays<Value>(config: Omit<pg.QueryArrayConfig, 'rowMode'>): Promise<Value[][]> {
    const { rows } = (await run({ ...config, rowMode: 'array' } as pg.QueryConfig)) as pg.QueryArrayResult
    return rows as Value[][]
  }

  return {
    timeouts,

    query: (text, values = []) => run({ text, values: values as unknown[] }),

    rows: (text, values) => runForArrays({ text, values: values as unknown[] }),

    textRows: (text, values) => runForArrays({ text, values: values as unknown[], types: AS_TEXT }),

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

    close,
  }
}

async function checkWritable(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query("select current_setting('transaction_read_only') as read_only")
  if (rows[0].read_only === 'on') throw new ReadOnlyError('the database is read-only')
}

function ignore(): void {}
