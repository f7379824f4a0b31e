// What the server logs: a line for each request, one when an outage of the database begins and one when it ends, and counts
// of what may occur thousands of times per second.

import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { KEY_PREFIX } from '../../api-key.ts'
import type { ServiceError } from '../../error.ts'
import type { Exchange } from './reply.ts'
import { headerValues } from './request.ts'

const REQUEST_ID = /^[!-~]{1,128}$/

/** Makes the request ids of this process different from those of every other process. */
const PROCESS_PREFIX = randomBytes(8).toString('hex')
let requests = 0

/** The level `info` of pino. */
const INFO = 30

/**
 * An outage ends with the first success that is at least this long after the last failure. Shortly before the end, some
 * requests succeed and others fail.
 */
const QUIET_MS = 2_000

const THROTTLE_MS = 10_000

export function newRequestId(): string {
  return `${PROCESS_PREFIX}-${++requests}`
}

/** Uses the client's own `X-Request-Id` if it is short, visible ASCII and contains no API key. */
export function createRequestIds(extraKey: string | undefined): (request: IncomingMessage) => string {
  function containsKey(text: string): boolean {
    return [...Object.values(KEY_PREFIX), extraKey].some(part => part !== undefined && text.includes(part))
  }

  return request => {
    const [given, second] = headerValues(request, 'x-request-id')
    const isUsable =
      given !== undefined && second === undefined && REQUEST_ID.test(given) && !containsKey(given)
    return isUsable ? given : newRequestId()
  }
}

/**
 * Renders what pino would render, in less time (bench/notes.md). The line has the route instead of the URL, because a URL may
 * contain a secret.
 */
export function renderRequest(exchange: Exchange, status: number | null, durationMs: number): string {
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
export function statusOf({ headersSent, statusCode }: ServerResponse): number | null {
  return headersSent || statusCode !== 200 ? statusCode : null
}

/** An outage of each kind ends only by its own success: a list that works does not end an outage of creations. */
export type RequestKind = 'creation' | 'read' | 'readiness'

/** Logs when the database becomes unavailable and when it is back, instead of a stack for each request that fails. */
export function createOutageLog(log: Logger, now = () => performance.now()) {
  /** The time of the last failure of each kind that has not succeeded since. */
  const lastFailures = new Map<RequestKind, number>()
  let failures = 0
  let startedAt = 0
  let lastFailureAt = 0

  return {
    /** Called for each request that the database failed to answer. */
    failed(kind: RequestKind, requestId: string, { cause }: ServiceError): void {
      lastFailureAt = now()
      lastFailures.set(kind, lastFailureAt)
      failures++
      if (failures > 1) return
      startedAt = lastFailureAt
      log.error({ requestId, err: cause }, 'the database is unavailable; further failures are only counted')
    },

    /** Called for each request that the database answered. */
    succeeded(kind: RequestKind): void {
      const failedAt = lastFailures.get(kind)
      if (failedAt === undefined || now() - failedAt < QUIET_MS) return
      lastFailures.delete(kind)
      if (lastFailures.size > 0) return
      const durationMs = Math.round(lastFailureAt - startedAt)
      log.warn({ failedRequests: failures, durationMs }, 'the database is available again')
      failures = 0
    },
  }
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
