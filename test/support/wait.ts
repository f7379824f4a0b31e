// Waits for a condition, never for a fixed time.

import { setTimeout as delay } from 'node:timers/promises'

const INTERVAL_MS = 5

export interface WaitOptions {
  /** Named in the error if the condition never becomes true. */
  readonly what: string
  readonly timeoutMs?: number
}

/** Resolves as soon as the condition is true. Rejects after the time-out, or if the condition throws. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  { what, timeoutMs = 20_000 }: WaitOptions,
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > deadline)
      throw new Error(`timed out after ${timeoutMs} ms, waiting until ${what}`)
    await delay(INTERVAL_MS)
  }
}
