// Logs one line when the database becomes unavailable and one when it is back, instead of a stack for each request that fails
// (docs/decisions/unavailable.md).

import type { Logger } from 'pino'
import type { ServiceError } from '../error.ts'

/** How often the service checks whether an outage has ended. */
const CHECK_INTERVAL_MS = 1_000

/** An outage ends this long after the last failure at the earliest: shortly before its end, some requests succeed and others fail. */
const QUIET_MS = 2_000

interface Outage {
  readonly startedAt: number
  lastFailureAt: number
  failures: number
  /** A write has failed, and none has stored anything since. Only a write can show that writes work again. */
  areWritesFailing: boolean
}

interface FailedRequest {
  readonly requestId?: string
  readonly isWrite?: boolean
}

export type OutageLog = ReturnType<typeof createOutageLog>

/** `checkDatabase` rejects if requests cannot be served. */
export function createOutageLog(
  log: Logger,
  checkDatabase: () => Promise<void>,
  now = () => performance.now(),
) {
  let outage: Outage | undefined

  function begin({ cause }: ServiceError, requestId: string | undefined): Outage {
    log.error({ requestId, err: cause }, 'the database is unavailable; further failures are only counted')
    setTimeout(check, CHECK_INTERVAL_MS).unref()
    return { startedAt: now(), lastFailureAt: 0, failures: 0, areWritesFailing: false }
  }

  async function check(): Promise<void> {
    if (outage === undefined) return
    if (isQuiet(outage) && (await isAvailable()) && isQuiet(outage)) end(outage)
    else setTimeout(check, CHECK_INTERVAL_MS).unref()
  }

  function isQuiet({ lastFailureAt, areWritesFailing }: Outage): boolean {
    return !areWritesFailing && now() - lastFailureAt >= QUIET_MS
  }

  function isAvailable(): Promise<boolean> {
    return checkDatabase().then(
      () => true,
      () => false,
    )
  }

  function end({ startedAt, failures }: Outage): void {
    outage = undefined
    const durationMs = Math.round(now() - startedAt)
    log.warn({ failedRequests: failures, durationMs }, 'the database is available again')
  }

  return {
    isOpen: () => outage !== undefined,

    /** Called for each request, and each check of the readiness, that the database failed to answer. */
    failed(error: ServiceError, { requestId, isWrite = false }: FailedRequest = {}): void {
      outage ??= begin(error, requestId)
      outage.lastFailureAt = now()
      outage.failures++
      outage.areWritesFailing ||= isWrite
    },

    /** Called for each request that has stored something. */
    stored(): void {
      if (outage !== undefined) outage.areWritesFailing = false
    },
  }
}
