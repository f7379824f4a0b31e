// Deletes expired idempotency keys every minute while the service runs.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Store } from '../store.ts'

const INTERVAL_MS = 60_000
const BATCH_SIZE = 1_000

export interface CleanUp {
  /** Starts no further batch, and resolves when the last one is done. */
  stop(): Promise<void>
}

export function startCleanUp(store: Pick<Store, 'deleteExpiredIdempotencyKeys'>, log: Logger): CleanUp {
  let running: Promise<void> | undefined
  let isStopped = false
  let hasFailed = false

  /** Deletes in small batches, each of which holds the write lock only briefly, until no expired key is left. */
  async function deleteExpired(): Promise<void> {
    try {
      while (!isStopped && (await store.deleteExpiredIdempotencyKeys(BATCH_SIZE)) === BATCH_SIZE)
        await nextTurn()
      hasFailed = false
    } catch (error) {
      // An outage is one line in the log, however long it lasts.
      if (!hasFailed) log.warn({ err: error }, 'could not delete expired idempotency keys')
      hasFailed = true
    }
  }

  const timer = setInterval(() => {
    running ??= deleteExpired().finally(() => {
      running = undefined
    })
  }, INTERVAL_MS).unref()

  return {
    async stop() {
      isStopped = true
      clearInterval(timer)
      await running
    },
  }
}
