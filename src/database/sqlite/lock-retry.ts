// Retries while another process holds a lock, without blocking the thread.

import { setTimeout as delay } from 'node:timers/promises'
import { isLocked, toServiceError } from './result-codes.ts'

const MAX_WAIT_MS = 2_000

/** Shorter than most transactions of other processes, so that all processes that write get their turn. */
const INTERVAL_MS = 2

export function lockDeadline(): number {
  return performance.now() + MAX_WAIT_MS
}

/** Rejects with `unavailable` if the database is still locked at the deadline, or cannot be used. */
export async function retryWhileLocked<Result>(
  attempt: () => Result,
  deadline = lockDeadline(),
): Promise<Result> {
  for (;;) {
    try {
      return attempt()
    } catch (error) {
      if (!isLocked(error) || performance.now() > deadline) throw toServiceError(error)
      await delay(INTERVAL_MS)
    }
  }
}
