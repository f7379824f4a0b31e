// What the server logs: a line for each request, one when an outage of the database begins and one when it ends, and counts
// of what may occur thousands of times per second.

import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { KEY_PREFIX } from '../../api-key.ts'
import type { ServiceError } from '../../error.ts'
import type { Exchange } from './exchange.ts'
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

/** Kinds of failures that begin together are one outage. It ends when all of its kinds have succeeded again. */
interface Outage {
  readonly startedAt: number
  lastFailureAt: number
  failures: number
}

/**
 * Logs when the database becomes unavailable and when it is back, instead of a stack for each request that fails. Only its own
 * success ends the failure of a kind. A kind that has failed, and is not requested again, hides no later outage of another kind.
 */
export function createOutageLog<Kind>(log: Logger, now = () => performance.now()) {
  /** The outage of each kind that has not succeeded since, and when this kind failed last. */
  const failing = new Map<Kind, { readonly outage: Outage; readonly failedAt: number }>()

  function begin(time: number, requestId: string, { cause }: ServiceError): Outage {
    log.error({ requestId, err: cause }, 'the database is unavailable; further failures are only counted')
    return { startedAt: time, lastFailureAt: time, failures: 0 }
  }

  return {
    /** Called for each request that the database failed to answer. */
    failed(kind: Kind, requestId: string, error: ServiceError): void {
      const time = now()
      const current = failing.get(kind) ?? failing.values().find(({ failedAt }) => time - failedAt < QUIET_MS)
      const outage = current?.outage ?? begin(time, requestId, error)
      outage.failures++
      outage.lastFailureAt = time
      failing.set(kind, { outage, failedAt: time })
    },

    /** Called for each request that the database answered. */
    succeeded(kind: Kind): void {
      const entry = failing.get(kind)
      if (entry === undefined || now() - entry.failedAt < QUIET_MS) return
      failing.delete(kind)
      const { outage } = entry
      if (failing.values().some(other => other.outage === outage)) return
      const durationMs = Math.round(outage.lastFailureAt - outage.startedAt)
      log.warn({ failedRequests: outage.failures, durationMs }, 'the database is available again')
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
