// Logs when the database becomes unavailable and when it is back, instead of a stack for each request that fails.

import type { Logger } from 'pino'
import type { ServiceError } from '../error.ts'

/**
 * An outage ends with the first success that is at least this long after the last failure. Shortly before the end, some
 * requests succeed and others fail.
 */
const QUIET_MS = 2_000

/** Each kind ends only by its own success: a list that works does not end an outage of creations. */
export type RequestKind = 'creation' | 'read' | 'readiness'

export interface OutageLog {
  /** Called for each request that the database failed to answer. */
  failed(kind: RequestKind, requestId: string, error: ServiceError): void
  /** Called for each request that the database answered. */
  succeeded(kind: RequestKind): void
}

export function createOutageLog(log: Logger, now = () => performance.now()): OutageLog {
  /** The time of the last failure of each kind that has not succeeded since. */
  const lastFailures = new Map<RequestKind, number>()
  let failures = 0
  let startedAt = 0
  let lastFailureAt = 0

  return {
    failed(kind, requestId, { cause }) {
      lastFailureAt = now()
      lastFailures.set(kind, lastFailureAt)
      failures++
      if (failures > 1) return
      startedAt = lastFailureAt
      log.error({ requestId, err: cause }, 'the database is unavailable; further failures are only counted')
    },

    succeeded(kind) {
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
