// What the application adds to the log of the server: which request ids it accepts from clients, and one line when an outage of the
// database begins and one when it ends.

import type { IncomingMessage } from 'node:http'
import type { Logger } from 'pino'
import { KEY_PREFIX } from '../api-key.ts'
import type { ServiceError } from '../error.ts'
import { newRequestId } from './server/log.ts'
import { headerValues } from './server/request.ts'

const REQUEST_ID = /^[!-~]{1,128}$/

/** An outage ends this long after the last failure, if requests succeed again. Shortly before the end, some succeed and others fail. */
const QUIET_MS = 2_000

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

/** Kinds of failures that begin together are one outage. It ends when all of its kinds have succeeded again. */
interface Outage {
  readonly startedAt: number
  lastFailureAt: number
  failures: number
  /** Whether a kind has succeeded again. A later failure of any kind begins another outage. */
  hasPartlyEnded: boolean
}

/** A kind of requests that has failed, and has not worked for long enough since. */
interface Failing {
  readonly outage: Outage
  readonly failedAt: number
  /** Set once a request has succeeded again. Cleared by another failure. */
  recovery?: NodeJS.Timeout
}

/**
 * Logs when the database becomes unavailable and when it is back, instead of a stack for each request that fails. Only its own
 * success ends the failure of a kind. A kind that has failed, and is not requested again, hides no later outage of another kind.
 */
export function createOutageLog<Kind>(log: Logger, now = () => performance.now()) {
  const failing = new Map<Kind, Failing>()

  function begin(time: number, requestId: string, { cause }: ServiceError): Outage {
    log.error({ requestId, err: cause }, 'the database is unavailable; further failures are only counted')
    return { startedAt: time, lastFailureAt: time, failures: 0, hasPartlyEnded: false }
  }

  function end(kind: Kind, outage: Outage): void {
    failing.delete(kind)
    outage.hasPartlyEnded = true
    if (failing.values().some(other => other.outage === outage)) return
    const durationMs = Math.round(outage.lastFailureAt - outage.startedAt)
    log.warn({ failedRequests: outage.failures, durationMs }, 'the database is available again')
  }

  return {
    /** Called for each request that the database failed to answer. */
    failed(kind: Kind, requestId: string, error: ServiceError): void {
      const time = now()
      const own = failing.get(kind)
      clearTimeout(own?.recovery)
      const others = failing.values().filter(({ failedAt }) => time - failedAt < QUIET_MS)
      const current = [own, ...others].find(other => other?.outage.hasPartlyEnded === false)
      const outage = current?.outage ?? begin(time, requestId, error)
      outage.failures++
      outage.lastFailureAt = time
      failing.set(kind, { outage, failedAt: time })
    },

    /** Called for each request that the database answered. */
    succeeded(kind: Kind): void {
      const own = failing.get(kind)
      if (own === undefined || own.recovery !== undefined) return
      const waitMs = own.failedAt + QUIET_MS - now()
      own.recovery = setTimeout(() => end(kind, own.outage), waitMs).unref()
    },
  }
}
