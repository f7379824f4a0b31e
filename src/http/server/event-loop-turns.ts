// Bounds the work of one event-loop turn. Node accepts one connection per turn, so nobody could connect under overload
// if turns were long (docs/decisions/overload.md).

import type { Socket } from 'node:net'
import type { Exchange } from './exchange.ts'

/** With fewer connections, a turn is short enough, unless they pipeline. */
const MANY_CONNECTIONS = 256

/** How many requests are read in a turn while others wait. A turn then takes about a millisecond. */
const READ_PER_TURN = 16

/** The same after a turn that accepted a connection: others are probably waiting to be accepted. */
const READ_BESIDE_ACCEPTING = 8

/** How many connections with health checks are read in addition. */
const URGENT_PER_TURN = 4

export interface TurnsOptions {
  readonly connectionCount: () => number
  /** Whether a request to this path must be answered soon even under overload. */
  readonly isUrgent: (path: string) => boolean
}

export interface Turns {
  addConnection(): void
  /**
   * Called for each request. If a turn has too many requests, connections are read in rotation: a connection that was
   * answered is read again after those that wait. Until then its next request stays in the operating system's buffers.
   */
  addRequest(exchange: Exchange, isPipelined: boolean): void
}

export function createTurns({ connectionCount, isUrgent }: TurnsOptions): Turns {
  /** Connections that are not read until it is their turn, in order. */
  const urgent = new Set<Socket>()
  const others = new Set<Socket>()
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
    const requestsPerConnection = Math.max(requests / Math.max(resumed, 1), 1)
    const limit = hasAccepted ? READ_BESIDE_ACCEPTING : READ_PER_TURN
    resumed = resumeFirst(others, Math.max(Math.floor(limit / requestsPerConnection), 1))
    resumed += resumeFirst(urgent, URGENT_PER_TURN)
    requests = 0
    hasAccepted = false
    if (urgent.size + others.size > 0) schedule()
  }

  function pause({ request: { complete, socket }, path }: Exchange, isPipelined: boolean): void {
    // The client has a second to send the rest of a request that was answered early.
    if (!complete) return
    socket.pause()
    if (isUrgent(path) && !isPipelined && !others.has(socket)) {
      urgent.add(socket)
    } else {
      urgent.delete(socket)
      others.add(socket)
    }
    schedule()
  }

  return {
    addConnection() {
      hasAccepted = true
    },

    addRequest(exchange, isPipelined) {
      if (!isPipelined && connectionCount() < MANY_CONNECTIONS) return
      requests++
      schedule()
      // Node itself resumes the socket to read the rest of a request, so the socket is paused after that.
      if (requests > READ_PER_TURN || others.size > 0)
        exchange.response.once('finish', () => pause(exchange, isPipelined))
    },
  }
}

/** Returns how many were resumed. */
function resumeFirst(waiting: Set<Socket>, count: number): number {
  let resumed = 0
  for (const socket of waiting) {
    if (resumed === count) break
    waiting.delete(socket)
    socket.resume()
    resumed++
  }
  return resumed
}
