// Bounds the memory of responses that wait for clients to read them. Beyond the limit, the connection that has made no
// progress for the longest time is closed (docs/decisions/overload.md).

import type { ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { Connection } from './connections.ts'
import { createThrottledLog } from './log.ts'
import { unsentBytes } from './node-internals.ts'

/** How often the progress of slow readers is checked. */
const CHECK_INTERVAL_MS = 1_000

export function createSlowReaders(limitBytes: number, log: Logger) {
  /** In the order of their last progress. */
  const readers = new Set<Connection>()
  let totalBytes = 0
  let timer: NodeJS.Timeout | undefined
  const logClosed = createThrottledLog(count =>
    log.warn({ closed: count, limitBytes }, 'closed connections that do not read their responses'),
  )

  function remove(connection: Connection): void {
    if (!readers.delete(connection)) return
    totalBytes -= connection.unreadBytes
    connection.unreadBytes = 0
    if (readers.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  /** Moves a reader behind the others if it has made progress. Returns whether it has. */
  function checkProgress(connection: Connection): boolean {
    const unsent = unsentBytes(connection.socket)
    if (unsent === connection.unsentBytes) return false
    connection.unsentBytes = unsent
    readers.delete(connection)
    readers.add(connection)
    return true
  }

  function checkAll(): void {
    for (const connection of [...readers]) checkProgress(connection)
  }

  function closeSlowest(): void {
    for (const connection of readers) {
      if (totalBytes <= limitBytes) return
      if (checkProgress(connection)) continue
      remove(connection)
      // A reset also frees what the operating system has buffered, several megabytes for each connection.
      connection.socket.resetAndDestroy()
      logClosed()
    }
  }

  return {
    /** Called for each response that could not be handed to the operating system at once. */
    add(connection: Connection, response: ServerResponse): void {
      const bytes = response.writableLength
      if (!readers.has(connection)) {
        connection.unsentBytes = unsentBytes(connection.socket)
        readers.add(connection)
        timer ??= setInterval(checkAll, CHECK_INTERVAL_MS).unref()
      }
      connection.unreadBytes += bytes
      totalBytes += bytes
      response.once('close', () => {
        // The connection was closed, and is no longer counted.
        if (!readers.has(connection)) return
        connection.unreadBytes -= bytes
        totalBytes -= bytes
        if (connection.unreadBytes === 0) remove(connection)
      })
      closeSlowest()
    },

    /** Node reports the end of a connection only to the first of several pipelined responses. */
    removeConnection: remove,
  }
}
