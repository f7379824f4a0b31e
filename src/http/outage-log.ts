// Logs when the database becomes unavailable and when it is back, instead of a stack for each request that fails.

import type { Logger } from 'pino'
import type { ServiceError } from '../error.ts'

/**
 * An outage ends with the first success that is at least this long after the last failure. Shortly before the end, some
 * requests succeed and others fail.
 */
const QUIET_MS = 2_000

export interface OutageLog {
  /** Called for each request that the database failed to answer. */
  failed(requestId: string, error: ServiceError): void
  /** Called for each request that the database answered. */
  succeeded(): void
}

export function createOutageLog(log: Logger): OutageLog {
  let failures = 0
  let startedAt = 0
  let lastFailureAt = 0

  return {
    failed(requestId, error) {
      lastFailureAt = performance.now()
      failures++
      if (failures > 1) return
      startedAt = lastFailureAt
      log.error({ requestId, err: error }, 'the database is unavailable; further failures are only counted')
    },

    succeeded() {
      if (failures === 0 || performance.now() - lastFailureAt < QUIET_MS) return
      const durationMs = Math.round(lastFailureAt - startedAt)
      log.warn({ failedRequests: failures, durationMs }, 'the database is available again')
      failures = 0
    },
  }
}
