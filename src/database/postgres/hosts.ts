// The hosts of a URL. Connections go to the host that was writable last. If it fails, the next one is tried.

import pg from 'pg'
import { ReadOnlyError } from './errors.ts'

type ConnectCallback = ((error: Error) => void) | ((error: null, client: pg.Client) => void)

export interface Hosts {
  readonly count: number
  /** The class of the pool's connections. Each connects to the host that is current when it is created. */
  readonly Client: typeof pg.Client
  /** If the URL has several hosts, throws unless the server of a new connection is writable. */
  check(client: pg.ClientBase): Promise<void>
  /** Makes the next host current, unless another connection to the same host has already done so. */
  skip(client: pg.ClientBase): void
}

/** `urls` has one URL for each host. */
export function createHosts(urls: readonly string[]): Hosts {
  let current = 0
  const hostOf = new WeakMap<pg.ClientBase, number>()
  const checked = new WeakSet<pg.ClientBase>()

  function skip(client: pg.ClientBase): void {
    if (hostOf.get(client) === current) current = (current + 1) % urls.length
  }

  class Client extends pg.Client {
    constructor(config: pg.ClientConfig) {
      super({ ...config, connectionString: urls[current] })
      hostOf.set(this, current)
    }

    /** The pool passes a callback. */
    override connect(): Promise<pg.Client>
    override connect(callback: ConnectCallback): void
    override connect(callback?: ConnectCallback): unknown {
      if (callback === undefined) return super.connect()
      return super.connect((error: Error) => {
        if (error) skip(this)
        ;(callback as (error: Error) => void)(error)
      })
    }
  }

  return {
    count: urls.length,
    Client,
    skip,
    async check(client) {
      if (urls.length === 1 || checked.has(client)) return
      await checkWritable(client)
      checked.add(client)
    },
  }
}

export async function checkWritable(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query("select current_setting('transaction_read_only') as read_only")
  if (rows[0].read_only === 'on') throw new ReadOnlyError('the database is read-only')
}
