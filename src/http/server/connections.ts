// The open connections and the requests in flight on each. At the limit, a new connection replaces the one that has been
// idle longest (docs/decisions/overload.md).

import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import type { Exchange } from './reply.ts'
import { createThrottledLog } from './throttled-log.ts'

export interface Connections {
  /** Closes another connection, or this one, if there are too many. */
  add(socket: Socket): void
  /** Returns the number of requests in flight on this connection. */
  begin(socket: Duplex, exchange: Exchange): number
  /** Called when the response was handed to the operating system. */
  end(socket: Duplex, exchange: Exchange): void
  /** Returns the requests that are still in flight, in order. A pipelining client has several. */
  inFlight(socket: Duplex): Exchange[]
  /** Returns the number of open connections. */
  count(): number
  /** Returns the number of requests in flight on all connections. */
  requestCount(): number
  sockets(): Iterable<Duplex>
}

interface Connection {
  readonly socket: Duplex
  /** The requests in flight. */
  readonly exchanges: Exchange[]
  previous: Connection | undefined
  next: Connection | undefined
}

export function createConnections(limit: number, log: Logger): Connections {
  const connections = new Map<Duplex, Connection>()
  /**
   * A linked list in the order in which each connection was last answered, or opened if it was never answered. So of all
   * idle connections, the one that has been idle longest comes first. The order of the map would do, but to delete and
   * insert a connection with each response takes 2 % of the CPU of a small request.
   */
  let first: Connection | undefined
  let last: Connection | undefined
  let requestCount = 0
  const logFull = createThrottledLog(count =>
    log.warn({ closed: count, limit }, 'closed idle connections: there are too many connections'),
  )
  const logRefused = createThrottledLog(count =>
    log.warn({ closed: count, limit }, 'refused new connections: there are too many, and all are busy'),
  )

  function unlink({ previous, next }: Connection): void {
    if (previous === undefined) first = next
    else previous.next = next
    if (next === undefined) last = previous
    else next.previous = previous
  }

  function append(connection: Connection): void {
    connection.previous = last
    connection.next = undefined
    if (last === undefined) first = connection
    else last.next = connection
    last = connection
  }

  function remove(socket: Duplex): void {
    const connection = connections.get(socket)
    if (connection === undefined) return
    requestCount -= connection.exchanges.length
    connections.delete(socket)
    unlink(connection)
  }

  function closeLongestIdle(): void {
    let connection = first
    while (connection?.exchanges.some(isBusy)) connection = connection.next
    if (connection === undefined) return
    // The newest connection is the last of the list: if the search reaches it, all others are busy.
    if (connection === last) logRefused()
    else logFull()
    remove(connection.socket)
    connection.socket.destroy()
  }

  return {
    add(socket) {
      const connection = { socket, exchanges: [], previous: undefined, next: undefined }
      connections.set(socket, connection)
      append(connection)
      socket.once('close', () => remove(socket))
      if (connections.size > limit) closeLongestIdle()
    },

    begin(socket, exchange) {
      const exchanges = connections.get(socket)?.exchanges
      if (exchanges === undefined) return 1
      while (exchanges[0] !== undefined && isDone(exchanges[0])) {
        exchanges.shift()
        requestCount--
      }
      requestCount++
      return exchanges.push(exchange)
    },

    end(socket, exchange) {
      const connection = connections.get(socket)
      if (connection === undefined) return
      const { exchanges } = connection
      // If the list kept the request until the next one arrived, the request would survive into the old generation.
      // Collecting it there costs as much CPU as serving it.
      if (exchanges[0] === exchange) {
        exchanges.shift()
        requestCount--
      }
      unlink(connection)
      append(connection)
    },

    inFlight(socket) {
      return (connections.get(socket)?.exchanges ?? []).filter(exchange => !isDone(exchange))
    },

    count: () => connections.size,

    requestCount: () => requestCount,

    sockets: () => connections.keys(),
  }
}

/** A request that is still arriving does not keep its connection open. */
function isBusy(exchange: Exchange): boolean {
  return exchange.request.complete && !isDone(exchange)
}

function isDone({ request, response }: Exchange): boolean {
  return response.closed && request.complete
}
