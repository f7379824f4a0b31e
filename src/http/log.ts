// What the application adds to the log of the server: which request ids it accepts from clients, and one line when an outage of the
// database begins and one when it ends.

import type { IncomingMessage } from 'node:http'
import type { Logger } from 'pino'
import { KEY_PREFIX } from '../api-key.ts'
import type { ServiceError } from '../error.ts'
import { newRequestId } from './server/log.ts'
import { headerValues } from './server/request.ts'

const REQUEST_ID = /^[!-~]{1,128}$/

/**
 * An outage ends with the first success that is at least this long after the last failure. Shortly before the end, some
 * requests succeed and others fail.
 */
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

/**
 * Logs when the database becomes unavailable and when it is back, instead of a stack for each request that fails. Only its own
 * success ends the failure of a kind. A kind that has failed, and is not requested again, hides no later outage of another kind.
 */
export function createOutageLog<Kind>(log: Logger, now = () => performance.now()) {
  /** The outage of each kind that has not succeeded since, and when this kind failed last. */
  const failing = new Map<Kind, { readonly outage: Outage; readonly failedAt: number }>()

  function begin(time: number, requestId: string, { cause }: ServiceError): Outage {
    log.error({ requestId, err: cause }, 'the database is unavailable; further failures are only counted')
    return { startedAt: time, lastFailureAt: time, failures: 0, hasPartlyEnded: false }
  }

  return {
    /** Called for each request that the database failed to answer. */
    failed(kind: Kind, requestId: string, error: ServiceError): void {
      const time = now()
      const own = failing.get(kind)?.outage
      const others = failing.values().filter(({ failedAt }) => time - failedAt < QUIET_MS)
      const current = [own, ...others.map(other => other.outage)].find(
        outage => outage?.hasPartlyEnded === false,
      )
      const outage = current ?? begin(time, requestId, error)
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
      outage.hasPartlyEnded = true
      if (failing.values().some(other => other.outage === outage)) return
      const durationMs = Math.round(outage.lastFailureAt - outage.startedAt)
      log.warn({ failedRequests: outage.failures, durationMs }, 'the database is available again')
    },
  }
}
