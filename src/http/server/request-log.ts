// One log line per request. It has the route instead of the URL, because a URL may contain a secret.

import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { KEY_PREFIX } from '../../api-key.ts'
import { headerValues } from './headers.ts'
import type { Exchange } from './reply.ts'

const REQUEST_ID = /^[!-~]{1,128}$/

/** Makes the request ids of this process different from those of every other process. */
const PROCESS_PREFIX = randomBytes(8).toString('hex')
let requests = 0

/** The level `info` of pino. */
const INFO = 30

export function newRequestId(): string {
  return `${PROCESS_PREFIX}-${++requests}`
}

/** Uses the client's own `X-Request-Id` if it is short, visible ASCII and contains no API key. */
export function createRequestIds(extraKey: string | undefined): (request: IncomingMessage) => string {
  return request => {
    const [given, second] = headerValues(request, 'x-request-id')
    const isUsable =
      given !== undefined && second === undefined && REQUEST_ID.test(given) && !containsKey(given)
    return isUsable ? given : newRequestId()
  }

  function containsKey(text: string): boolean {
    return [...Object.values(KEY_PREFIX), extraKey].some(part => part !== undefined && text.includes(part))
  }
}

/** Called for each request that was answered. There is no exchange if the HTTP parser rejected the request. */
export type OnAnswered = (exchange: Exchange | undefined, status: number, durationMs: number) => void

export interface RequestLog {
  /** Takes a line of the log. Undefined if requests are not logged. */
  readonly write: ((line: string) => void) | undefined
  readonly onAnswered: OnAnswered | undefined
}

/** Called when the response was handed to the operating system, or will never be. */
export function reportRequest({ write, onAnswered }: RequestLog, exchange: Exchange): void {
  const status = statusOf(exchange.response)
  const durationMs = performance.now() - exchange.startedAt
  if (status !== null) onAnswered?.(exchange, status, durationMs)
  write?.(renderLine(exchange, status, durationMs))
}

/** Renders what pino would render, in less time (bench/notes.md). */
function renderLine(exchange: Exchange, status: number | null, durationMs: number): string {
  const { id, address, request, response, route, apiKey, animalId } = exchange
  const isAborted = status === null || (request.socket.destroyed && !response.writableFinished)
  const fields = [
    `"level":${INFO},"time":${Date.now()},"requestId":${JSON.stringify(id)}`,
    address === undefined ? '' : `,"address":"${address}"`,
    `,"method":"${request.method}","route":${route === undefined ? null : `"${route}"`},"status":${status}`,
    `,"durationMs":${Math.round(durationMs * 1000) / 1000}`,
    apiKey === undefined ? '' : `,"keyId":${JSON.stringify(apiKey.id)}`,
    animalId === undefined ? '' : `,"animalId":${animalId}`,
    isAborted ? ',"aborted":true' : '',
  ]
  return `{${fields.join('')},"msg":"request"}\n`
}

/** Null if the client disconnected before it was answered. A parser error sets the status without sending headers. */
function statusOf({ headersSent, statusCode }: ServerResponse): number | null {
  return headersSent || statusCode !== 200 ? statusCode : null
}
