// Bounds the work of one event-loop turn. Node accepts one connection per turn, so nobody could connect under overload
// if turns were long (docs/decisions/overload.md).
//
// | a connection waits in | because                                                 | in each turn                                      |
// |-----------------------|---------------------------------------------------------|---------------------------------------------------|
// | queued                | it has requests beyond the 16 of the turn that read it  | 16 of these are served, or 8 while others connect |
// | others                | it was answered, and is paused                          | the same number is resumed, if none is queued     |
// | urgent                | the same, and its last request was a health check       | 4 are resumed                                     |
//
// So with 1,000 busy connections, each is read about every 60th turn.

import type { Connection } from './connections.ts'
import type { Exchange } from './exchange.ts'
import { pauseAfterParsing } from './node-internals.ts'

/** With fewer connections, a turn is short enough, unless they pipeline. */
const MANY_CONNECTIONS = 256

/** How many requests are served in a turn while others wait. A turn then takes about a millisecond. */
const SERVED_PER_TURN = 16

/** How many are served after a turn that accepted a connection: others are probably waiting to be accepted. */
const SERVED_BESIDE_ACCEPTING = 8

/** How many connections with health checks are read in addition. */
const URGENT_PER_TURN = 4

/** `isUrgent` returns whether a request to this path must be answered soon even under overload. */
export function createTurns(connectionCount: () => number, isUrgent: (path: string) => boolean) {
  /** Connections that are not read until it is their turn, in order. */
  const urgent = new Set<Connection>()
  const others = new Set<Connection>()
  /** Connections with requests that wait, because Node has read too many in one turn. */
  const queued = new Set<Connection>()
  let requests = 0
  let resumed = 0
  let hasAccepted = false
  let isScheduled = false

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(nextTurn)
  }

  function nextTurn(): void {
    isScheduled = false
    // A connection that pipelines sends hundreds of requests at once, so only one such connection is read in a turn.
    const requestsPerRead = Math.max(requests / Math.max(resumed, 1), 1)
    const limit = hasAccepted ? SERVED_BESIDE_ACCEPTING : SERVED_PER_TURN
    requests = 0
    serveWaiting(limit)
    resumed = queued.size > 0 ? 0 : resume(others, Math.max(Math.floor(limit / requestsPerRead), 1))
    resumed += resume(urgent, URGENT_PER_TURN)
    hasAccepted = false
    if (urgent.size + others.size + queued.size > 0) schedule()
  }

  /** One request of each connection, then the second ones. */
  function serveWaiting(limit: number): void {
    let served = 0
    for (const connection of queued) {
      if (served === limit) break
      queued.delete(connection)
      connection.waiting.shift()?.()
      // The loop comes to it again after the others.
      if (connection.waiting.length > 0) queued.add(connection)
      served++
    }
  }

  function resume(connections: Set<Connection>, count: number): number {
    const first = [...connections.values().take(count)]
    for (const connection of first) {
      connections.delete(connection)
      connection.socket.resume()
    }
    return first.length
  }

  function pause(connection: Connection, { request, path }: Exchange, isPipelined: boolean): void {
    // The client has a second to send the rest of a request that was answered early.
    if (!request.complete) return
    connection.socket.pause()
    if (isUrgent(path) && !isPipelined && !others.has(connection)) {
      urgent.add(connection)
    } else {
      urgent.delete(connection)
      others.add(connection)
    }
    schedule()
  }

  return {
    addConnection(): void {
      hasAccepted = true
    },

    /** The requests that wait on it are then never served. */
    removeConnection(connection: Connection): void {
      queued.delete(connection)
    },

    /**
     * Called for each request. Returns a promise if the request must wait, because the turn has too many. It resolves in a
     * later turn. Connections are then also read in rotation: one that was answered is read again after those that wait.
     * Until then its next request stays in the operating system's buffers.
     */
    addRequest(connection: Connection, exchange: Exchange, isPipelined: boolean): Promise<void> | undefined {
      if (!isPipelined && connectionCount() < MANY_CONNECTIONS) return
      requests++
      schedule()
      if (requests <= SERVED_PER_TURN && others.size + queued.size === 0) return
      // Node itself resumes the socket to read the rest of a request, so the socket is paused after that.
      exchange.response.once('finish', () => pause(connection, exchange, isPipelined))
      if (requests <= SERVED_PER_TURN && queued.size === 0) return
      if (isUrgent(exchange.path) && !isPipelined) return
      pauseAfterParsing(connection.socket)
      return new Promise(resolve => {
        connection.waiting.push(resolve)
        queued.add(connection)
      })
    },
  }
}
