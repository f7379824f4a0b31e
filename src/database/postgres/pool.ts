// Runs statements, prepared and in transactions. A prepared statement is parsed and planned once per connection. Its name
// is a hash of its text, so that clients that share a connection through a pooler cannot use one name for different texts.

import { hash } from 'node:crypto'
import type { ClientBase, QueryArrayConfig, QueryArrayResult, QueryConfig, QueryResult } from 'pg'
import type { Warn } from '../../store.ts'
import { type Connections, checkWritable, openConnections } from './connections.ts'
import { isConnectionError, isOutdatedPlan, isPreparedStatementRefused } from './errors.ts'
import { REQUEST_TIMEOUTS, type Timeouts } from './limits.ts'

/** Leaves every value as the text that the server sent. */
const AS_TEXT = { getTypeParser: () => (text: string) => text }

export interface Pool extends Connections {
  readonly timeouts: Timeouts
  query(sql: string, values?: readonly unknown[]): Promise<QueryResult>
  /** Returns rows as arrays, which are faster than objects. */
  rows(sql: string, values: readonly unknown[]): Promise<unknown[][]>
  /** Returns rows as arrays of text. */
  textRows(sql: string, values: readonly unknown[]): Promise<(string | null)[][]>
  /** Runs the work in a transaction. */
  transact<Result>(work: (client: ClientBase) => Promise<Result>): Promise<Result>
  /** Rejects if the database does not answer or is read-only. */
  checkWritable(): Promise<void>
}

export interface PoolOptions {
  /** How many connections the pool opens at most. */
  readonly connections: number
  /** The default is REQUEST_TIMEOUTS. */
  readonly timeouts?: Timeouts | undefined
  readonly warn: Warn
}

export function openPool(url: string, { connections, timeouts = REQUEST_TIMEOUTS, warn }: PoolOptions): Pool {
  const { withClient, close } = openConnections(url, connections, timeouts)
  /** Statements are constants, so there are only a few. */
  const names = new Map<string, string>()
  let isPreparing = true

  function nameOf(text: string): string {
    const known = names.get(text)
    if (known !== undefined) return known
    const name = `animal_store_${hash('sha256', text).slice(0, 32)}`
    names.set(text, name)
    return name
  }

  /** Sends a statement by its name as long as the server and the poolers in front of it support that. */
  async function run(config: QueryConfig): Promise<QueryResult> {
    const send = (sent: QueryConfig) => withClient(client => client.query(sent))
    if (!isPreparing) return send(config)
    try {
      return await send({ ...config, name: nameOf(config.text) })
    } catch (error) {
      // In both cases nothing ran, so that even a creation can be sent again.
      if (isOutdatedPlan(error)) return send(config)
      if (!isPreparedStatementRefused(error)) throw error
      if (isPreparing)
        warn(
          'Prepared statements do not work, probably because of a connection pooler. Going on without them.',
        )
      isPreparing = false
      return send(config)
    }
  }

  async function runForArrays<Value>(config: Omit<QueryArrayConfig, 'rowMode'>): Promise<Value[][]> {
    const { rows } = (await run({ ...config, rowMode: 'array' } as QueryConfig)) as QueryArrayResult
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
