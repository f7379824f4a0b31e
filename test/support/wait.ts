// Waits for a condition, never for a fixed time.

import { setTimeout as delay } from 'node:timers/promises'

const FIRST_INTERVAL_MS = 5
/** A condition may send a request, so a long wait must not use all of the CPU. */
const MAX_INTERVAL_MS = 50

/** What takes longer hangs: ten times what the slowest condition takes on a slow machine. */
const HANG_MS = 60_000

interface WaitOptions {
  /** Named in the error if the condition never becomes true. */
  readonly what: string
  readonly timeoutMs?: number
}

/** Resolves as soon as the condition is true. Rejects after the time-out, or if the condition throws. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  { what, timeoutMs = HANG_MS }: WaitOptions,
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  for (let intervalMs = FIRST_INTERVAL_MS; !(await condition()); intervalMs *= 1.5) {
    if (performance.now() > deadline)
      throw new Error(`timed out after ${timeoutMs} ms, waiting until ${what}`)
    await delay(Math.min(intervalMs, MAX_INTERVAL_MS))
  }
}
