// How long to wait for a lock that another process holds.

import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { isLocked, toServiceError } from './errors.ts'

/** How long a request waits. */
export const LOCK_TIMEOUT_MS = 2_000

/** How long `migrate` and `copy` wait for the write lock. The service holds it briefly, but another command takes it again and again. */
export const LONG_LOCK_TIMEOUT_MS = 60_000

/** Shorter than most transactions of other processes, so that all processes that write get their turn. */
const LOCK_INTERVAL_MS = 2

/** When an attempt that begins now gives up waiting for a lock. */
export function lockDeadline(): number {
  return performance.now() + LOCK_TIMEOUT_MS
}

/**
 * Retries while another process holds a lock, without blocking the thread. Rejects with `unavailable` if the database is
 * still locked at the deadline, or cannot be used.
 */
export async function retryWhileLocked<Result>(
  attempt: () => Result,
  deadline = lockDeadline(),
): Promise<Result> {
  for (;;) {
    try {
      return attempt()
    } catch (error) {
      if (!isLocked(error) || performance.now() > deadline) throw toServiceError(error)
      await delay(LOCK_INTERVAL_MS)
    }
  }
}

/** Lets SQLite itself wait for locks within the work. That blocks the thread. */
export function waitForLocks<Result>(database: DatabaseSync, timeoutMs: number, work: () => Result): Result {
  database.exec(`pragma busy_timeout = ${timeoutMs}`)
  try {
    return work()
  } finally {
    database.exec('pragma busy_timeout = 0')
  }
}

export function blockThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
