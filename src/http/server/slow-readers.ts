// Bounds the memory of responses that wait for clients to read them. Beyond the limit, the connection that has made no
// progress for the longest time is closed (docs/decisions/overload.md).

import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import type { Exchange } from './exchange.ts'
import { createThrottledLog } from './log.ts'
import { unsentBytes } from './node-internals.ts'

/** How often the progress of slow readers is checked. */
const CHECK_INTERVAL_MS = 1_000

interface SlowReader {
  /** The size of its responses that wait. */
  bytes: number
  /** What the operating system had not yet accepted at the last check. */
  unsent: number
  readonly onClose: () => void
}

/** Returns a function that takes each exchange whose response could not be handed to the operating system at once. */
export function createSlowReaders(limitBytes: number, log: Logger): (exchange: Exchange) => void {
  /** In the order of their last progress. */
  const readers = new Map<Socket, SlowReader>()
  let totalBytes = 0
  let timer: NodeJS.Timeout | undefined
  const logClosed = createThrottledLog(count =>
    log.warn({ closed: count, limitBytes }, 'closed connections that do not read their responses'),
  )

  function remove(socket: Socket): void {
    const reader = readers.get(socket)
    if (reader === undefined) return
    totalBytes -= reader.bytes
    readers.delete(socket)
    socket.off('close', reader.onClose)
    if (readers.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  function newReader(socket: Socket): SlowReader {
    const reader = { bytes: 0, unsent: unsentBytes(socket), onClose: () => remove(socket) }
    readers.set(socket, reader)
    // Node reports the end of the connection only to the first of several pipelined responses.
    socket.once('close', reader.onClose)
    timer ??= setInterval(checkAll, CHECK_INTERVAL_MS).unref()
    return reader
  }

  /** Moves a reader behind the others if it has made progress. Returns whether it has. */
  function checkProgress(socket: Socket, reader: SlowReader): boolean {
    const unsent = unsentBytes(socket)
    if (unsent === reader.unsent) return false
    reader.unsent = unsent
    readers.delete(socket)
    readers.set(socket, reader)
    return true
  }

  function checkAll(): void {
    for (const [socket, reader] of [...readers]) checkProgress(socket, reader)
  }

  function closeSlowest(): void {
    for (const [socket, reader] of readers) {
      if (totalBytes <= limitBytes) return
      if (checkProgress(socket, reader)) continue
      remove(socket)
      // A reset also frees what the operating system has buffered, several megabytes for each connection.
      socket.resetAndDestroy()
      logClosed()
    }
  }

  return ({ request: { socket }, response }) => {
    const bytes = response.writableLength
    const reader = readers.get(socket) ?? newReader(socket)
    reader.bytes += bytes
    totalBytes += bytes
    response.once('close', () => {
      // The connection was closed, and is no longer counted.
      if (readers.get(socket) !== reader) return
      reader.bytes -= bytes
      totalBytes -= bytes
      if (reader.bytes === 0) remove(socket)
    })
    closeSlowest()
  }
}
