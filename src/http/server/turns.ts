// Bounds the work of one event-loop turn. Node accepts one connection per turn, so nobody could connect under overload
// if turns were long (docs/decisions/overload.md).

import type { Socket } from 'node:net'
import type { Exchange } from './exchange.ts'

/** With fewer connections, a turn is short enough whatever they do. */
const MANY_CONNECTIONS = 256

/** How many connections are read in a turn while others wait. A turn then takes about a millisecond. */
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
   * Called for each request. If a turn has too many, their connections are read in rotation: one that was answered is
   * read again after those that wait. Until then its next request stays in the buffers of the operating system.
   */
  addRequest(socket: Socket, exchange: Exchange): void
}

export function createTurns({ connectionCount, isUrgent }: TurnsOptions): Turns {
  /** Connections that are not read until it is their turn, in order. */
  const urgent = new Set<Socket>()
  const others = new Set<Socket>()
  let requests = 0
  let hasAccepted = false
  let isScheduled = false

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(nextTurn)
  }

  function nextTurn(): void {
    isScheduled = false
    resumeFirst(urgent, URGENT_PER_TURN)
    resumeFirst(others, hasAccepted ? READ_BESIDE_ACCEPTING : READ_PER_TURN)
    requests = 0
    hasAccepted = false
    if (urgent.size + others.size > 0) schedule()
  }

  function pause(socket: Socket, { path, request }: Exchange): void {
    // The client has a second to send the rest of a request that was answered early.
    if (!request.complete) return
    socket.pause()
    const waiting = isUrgent(path) ? urgent : others
    waiting.add(socket)
    schedule()
  }

  return {
    addConnection() {
      hasAccepted = true
    },

    addRequest(socket, exchange) {
      if (connectionCount() < MANY_CONNECTIONS) return
      requests++
      schedule()
      // Node itself resumes the socket to read the rest of a request, so the socket is paused after that.
      if (requests > READ_PER_TURN || others.size > 0)
        exchange.response.once('finish', () => pause(socket, exchange))
    },
  }
}

function resumeFirst(waiting: Set<Socket>, count: number): void {
  let resumed = 0
  for (const socket of waiting) {
    if (resumed++ === count) return
    waiting.delete(socket)
    socket.resume()
  }
}
