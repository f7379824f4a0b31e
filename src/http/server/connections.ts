// The open connections and the requests in flight on each. At the limit, a new connection replaces the one that has been
// idle longest (docs/decisions/overload.md).

import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import type { Exchange } from './exchange.ts'
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

export function createConnections(limit: number, log: Logger): Connections {
  /**
   * In the order in which each was last answered, or opened if it was never answered. So of all idle connections, the
   * one that has been idle longest comes first.
   */
  const exchangesOf = new Map<Duplex, Exchange[]>()
  let requestCount = 0
  const logFull = createThrottledLog(count =>
    log.warn({ closed: count, limit }, 'closed idle connections: there are too many connections'),
  )
  const logRefused = createThrottledLog(count =>
    log.warn({ closed: count, limit }, 'refused new connections: there are too many, and all are busy'),
  )

  function remove(socket: Duplex): void {
    requestCount -= exchangesOf.get(socket)?.length ?? 0
    exchangesOf.delete(socket)
  }

  function closeLongestIdle(newest: Duplex): void {
    for (const [socket, exchanges] of exchangesOf) {
      if (exchanges.some(isBusy)) continue
      // The newest connection is the last of the list: if the loop reaches it, all others are busy.
      if (socket === newest) logRefused()
      else logFull()
      remove(socket)
      socket.destroy()
      return
    }
  }

  return {
    add(socket) {
      exchangesOf.set(socket, [])
      socket.once('close', () => remove(socket))
      if (exchangesOf.size > limit) closeLongestIdle(socket)
    },

    begin(socket, exchange) {
      const exchanges = exchangesOf.get(socket)
      if (exchanges === undefined) return 1
      while (exchanges[0] !== undefined && isDone(exchanges[0])) {
        exchanges.shift()
        requestCount--
      }
      requestCount++
      return exchanges.push(exchange)
    },

    end(socket, exchange) {
      const exchanges = exchangesOf.get(socket)
      if (exchanges === undefined) return
      // If the list kept the request until the next one arrived, the request would survive into the old generation.
      // Collecting it there costs as much CPU as serving it.
      if (exchanges[0] === exchange) {
        exchanges.shift()
        requestCount--
      }
      exchangesOf.delete(socket)
      exchangesOf.set(socket, exchanges)
    },

    inFlight(socket) {
      return (exchangesOf.get(socket) ?? []).filter(exchange => !isDone(exchange))
    },

    count: () => exchangesOf.size,

    requestCount: () => requestCount,

    sockets: () => exchangesOf.keys(),
  }
}

/** A request that is still arriving does not keep its connection open. */
function isBusy(exchange: Exchange): boolean {
  return exchange.request.complete && !isDone(exchange)
}

function isDone({ request, response }: Exchange): boolean {
  return response.closed && request.complete
}
