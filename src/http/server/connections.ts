// The open connections, and which one is closed to make room for a new one (docs/decisions/overload.md).
//
// A connection drains, which means that it serves no further request and closes when all are answered, after a request that must be
// its last one (`isLastRequest`), after CONNECT, after malformed HTTP, and if too many requests are in flight. Node.js itself closes a
// connection after `Connection: close`.

import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import type { Exchange } from './exchange.ts'
import { createThrottledLog } from './request-log.ts'

export interface Connection<Context = unknown> {
  readonly socket: Socket
  /** Its requests, in order. A pipelining client has several. Those that are answered are removed later: see `inFlight`. */
  readonly exchanges: Exchange<Context>[]
  /** Nothing that follows on it is treated as a request. */
  isDraining: boolean
  /** What arrived on it is not HTTP. */
  isMalformed: boolean
}

/** Returns the requests that are not answered yet, in order. */
export function inFlight<Context>({ exchanges }: Connection<Context>): Exchange<Context>[] {
  return exchanges.filter(exchange => !isDone(exchange))
}

export function createConnections<Context>(limit: number, log: Logger) {
  /**
   * In the order in which each connection was last answered, or opened if it was never answered. So the one that has waited
   * longest for its client comes first.
   */
  const connections = new Map<Duplex, Connection<Context>>()
  let requestCount = 0
  const logFull = createThrottledLog(count =>
    log.warn(
      { closed: count, limit },
      'closed connections that waited for their clients: there are too many',
    ),
  )

  function remove({ socket, exchanges }: Connection<Context>): void {
    if (connections.delete(socket)) requestCount -= exchanges.length
  }

  function makeRoomFor(newest: Connection<Context>): void {
    const connection = findDispensable(newest)
    logFull()
    remove(connection)
    connection.socket.destroy()
  }

  /** The first one that waits for its client, otherwise the newest one. */
  function findDispensable(newest: Connection<Context>): Connection<Context> {
    for (const connection of connections.values())
      if (connection !== newest && !connection.exchanges.some(isBusy)) return connection
    return newest
  }

  function removeFirst({ exchanges }: Connection<Context>): void {
    exchanges.shift()
    requestCount--
  }

  return {
    /** Adds a connection. Closes another one, or this one, if there are too many. */
    open(socket: Socket, onClosed: (connection: Connection<Context>) => void): void {
      const connection: Connection<Context> = {
        socket,
        exchanges: [],
        isDraining: false,
        isMalformed: false,
      }
      connections.set(socket, connection)
      socket.once('close', () => {
        remove(connection)
        onClosed(connection)
      })
      if (connections.size > limit) makeRoomFor(connection)
    },

    /** Returns undefined if the connection was closed to make room. */
    find: (socket: Duplex) => connections.get(socket),

    /** Adds a request. */
    begin(connection: Connection<Context>, exchange: Exchange<Context>): void {
      const { exchanges } = connection
      while (exchanges[0] !== undefined && isDone(exchanges[0])) removeFirst(connection)
      requestCount++
      exchanges.push(exchange)
    },

    /** Called when the response was handed to the operating system. */
    end(connection: Connection<Context>, exchange: Exchange<Context>): void {
      const { socket, exchanges } = connection
      if (!connections.delete(socket)) return
      // If the list kept the request until the next one arrived, the request would survive into the old generation.
      // Collecting it there costs as much CPU as serving it.
      if (exchanges[0] === exchange) removeFirst(connection)
      connections.set(socket, connection)
    },

    sockets: () => connections.keys(),
    count: () => connections.size,

    /** Returns how many requests are in flight on all connections, or answered behind one that is. */
    requestCount: () => requestCount,
  }
}

/** Whether the service has to do something. A request that still arrives, and a response that the client has to read, do not count. */
function isBusy({ request, response }: Exchange): boolean {
  return request.complete && !response.writableEnded
}

/** Whether the whole request has arrived and its response is closed. */
export function isDone({ request, response }: Exchange): boolean {
  return response.closed && request.complete
}
