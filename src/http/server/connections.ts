// The open connections and the requests in flight on each. At the limit, a new connection replaces the one that has been
// idle longest (docs/decisions/overload.md).

import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import type { Exchange } from './exchange.ts'
import { createThrottledLog } from './log.ts'

export function createConnections<Context>(limit: number, log: Logger) {
  /**
   * The requests in flight on each connection, in the order in which each connection was last answered, or opened if it was
   * never answered. So of all idle connections, the one that has been idle longest comes first.
   */
  const connections = new Map<Duplex, Exchange<Context>[]>()
  let requestCount = 0
  const logFull = createThrottledLog(count =>
    log.warn({ closed: count, limit }, 'closed idle connections: there are too many connections'),
  )
  const logRefused = createThrottledLog(count =>
    log.warn({ closed: count, limit }, 'refused new connections: there are too many, and all are busy'),
  )

  function remove(socket: Duplex): void {
    requestCount -= connections.get(socket)?.length ?? 0
    connections.delete(socket)
  }

  /** The newest connection is the last: if the search reaches it, all others are busy. */
  function closeLongestIdle(newest: Duplex): void {
    for (const [socket, exchanges] of connections) {
      if (exchanges.some(isBusy)) continue
      if (socket === newest) logRefused()
      else logFull()
      remove(socket)
      socket.destroy()
      return
    }
  }

  return {
    /** Closes another connection, or this one, if there are too many. Requests in flight when it closes are abandoned. */
    add(socket: Socket, onAbandoned: (exchange: Exchange<Context>) => void): void {
      connections.set(socket, [])
      socket.once('close', () => {
        connections.get(socket)?.forEach(onAbandoned)
        remove(socket)
      })
      if (connections.size > limit) closeLongestIdle(socket)
    },

    /** Returns the number of requests in flight on this connection. */
    begin(socket: Duplex, exchange: Exchange<Context>): number {
      const exchanges = connections.get(socket)
      if (exchanges === undefined) return 1
      while (exchanges[0] !== undefined && isDone(exchanges[0])) {
        exchanges.shift()
        requestCount--
      }
      requestCount++
      return exchanges.push(exchange)
    },

    /** Called when the response was handed to the operating system. */
    end(socket: Duplex, exchange: Exchange): void {
      const exchanges = connections.get(socket)
      if (exchanges === undefined) return
      // If the list kept the request until the next one arrived, the request would survive into the old generation.
      // Collecting it there costs as much CPU as serving it.
      if (exchanges[0] === exchange) {
        exchanges.shift()
        requestCount--
      }
      connections.delete(socket)
      connections.set(socket, exchanges)
    },

    /** Returns the requests that are still in flight, in order. A pipelining client has several. */
    inFlight(socket: Duplex): Exchange<Context>[] {
      return (connections.get(socket) ?? []).filter(exchange => !isDone(exchange))
    },

    count: () => connections.size,

    /** Returns the number of requests in flight on all connections. */
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
