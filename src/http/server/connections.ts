// The open connections: what each one is doing, and which one makes room for a new one (docs/decisions/overload.md).
//
// | state     | what it means                                      | what comes next                                          |
// |-----------|----------------------------------------------------|----------------------------------------------------------|
// | idle      | no request in flight                               | receiving or answering; closed to make room for another  |
// | receiving | a request whose body is incomplete                 | answering; closed to make room for another               |
// | answering | a complete request is not answered                 | idle                                                     |
// | draining  | the same, and no further request is served         | closed, when all are answered                            |
// | closed    | the socket is closed                               |                                                          |
//
// A connection is draining after a request that must be its last one (`isLastRequest`), after CONNECT, after malformed HTTP, and
// if too many requests are in flight. Node.js itself closes a connection after `Connection: close`.

import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import type { Exchange } from './exchange.ts'
import { createThrottledLog } from './request-log.ts'

export type ConnectionState = 'idle' | 'receiving' | 'answering' | 'draining' | 'closed'

export interface Connection<Context = unknown> {
  readonly socket: Socket
  /** Its requests in flight, in order. A pipelining client has several. Some may be answered already: see `inFlight`. */
  readonly exchanges: Exchange<Context>[]
  /** Nothing that follows on it is treated as a request. */
  isDraining: boolean
  /** What arrived on it is not HTTP. */
  isMalformed: boolean
}

export function stateOf({ socket, exchanges, isDraining }: Connection): ConnectionState {
  if (socket.destroyed) return 'closed'
  if (!exchanges.some(isBusy)) return exchanges.every(isDone) ? 'idle' : 'receiving'
  return isDraining ? 'draining' : 'answering'
}

/** Returns the requests that are not answered yet, in order. */
export function inFlight<Context>({ exchanges }: Connection<Context>): Exchange<Context>[] {
  return exchanges.filter(exchange => !isDone(exchange))
}

export function createConnections<Context>(limit: number, log: Logger) {
  /**
   * In the order in which each connection was last answered, or opened if it was never answered. So of all idle connections, the
   * one that has been idle longest comes first.
   */
  const connections = new Map<Duplex, Connection<Context>>()
  let requestCount = 0
  const logFull = createThrottledLog(count =>
    log.warn({ closed: count, limit }, 'closed idle connections: there are too many connections'),
  )

  function remove({ socket, exchanges }: Connection<Context>): void {
    if (connections.delete(socket)) requestCount -= exchanges.length
  }

  /** The newest connection is the last one, and is closed itself if all others are busy. */
  function closeLongestIdle(): void {
    for (const connection of connections.values()) {
      const state = stateOf(connection)
      if (state !== 'idle' && state !== 'receiving') continue
      logFull()
      remove(connection)
      connection.socket.destroy()
      return
    }
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
      if (connections.size > limit) closeLongestIdle()
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

    all: () => connections.values(),
    count: () => connections.size,

    /** Returns the number of requests in flight on all connections. */
    requestCount: () => requestCount,
  }
}

/** A request that is still arriving does not keep its connection open. */
function isBusy(exchange: Exchange): boolean {
  return exchange.request.complete && !isDone(exchange)
}

/** Whether the whole request has arrived and its response is closed. */
export function isDone({ request, response }: Exchange): boolean {
  return response.closed && request.complete
}
