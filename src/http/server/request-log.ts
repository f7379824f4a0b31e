// What the server logs: a line for each request, and counts of what may occur thousands of times per second.

import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Exchange } from './exchange.ts'

/** Makes the request ids of this process different from those of every other process. */
const PROCESS_PREFIX = randomBytes(8).toString('hex')
let requests = 0

/** The level `info` of pino. */
const INFO = 30

const THROTTLE_MS = 10_000

export function newRequestId(): string {
  return `${PROCESS_PREFIX}-${++requests}`
}

/**
 * Renders what pino would render, in less time (bench/notes.md). The line has the route instead of the URL, because a URL may
 * contain a secret.
 */
export function renderRequest(
  exchange: Exchange,
  status: number | null,
  durationMs: number,
  furtherMembers: string,
): string {
  const { id, address, request, response, route } = exchange
  const isAborted = status === null || (request.socket.destroyed && !response.writableFinished)
  const fields = [
    `"level":${INFO},"time":${Date.now()},"requestId":${JSON.stringify(id)}`,
    address === undefined ? '' : `,"address":"${address}"`,
    `,"method":"${request.method}","route":${route === undefined ? null : `"${route}"`},"status":${status}`,
    `,"durationMs":${Math.round(durationMs * 1000) / 1000}`,
    furtherMembers,
    isAborted ? ',"aborted":true' : '',
  ]
  return `{${fields.join('')},"msg":"request"}\n`
}

/** Null if the client disconnected before it was answered. A parser error sets the status without sending headers. */
export function statusOf({ headersSent, statusCode }: ServerResponse): number | null {
  return headersSent || statusCode !== 200 ? statusCode : null
}

/** Returns a function to call for each event. It logs the first event at once, and the number of later ones at intervals. */
export function createThrottledLog(log: (count: number) => void): () => void {
  let count = 0
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    timer = undefined
    if (count === 0) return
    log(count)
    count = 0
    timer = setTimeout(flush, THROTTLE_MS).unref()
  }

  return () => {
    count++
    if (timer === undefined) flush()
  }
}
