// Waits for a condition instead of a fixed time.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'

const POLL_INTERVAL_MS = 10

/** Polls the condition until it is true. Fails with the message if it is still false after the time limit. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  message: string,
  limitMs = 10_000,
): Promise<void> {
  const deadline = performance.now() + limitMs
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, `${message} within ${limitMs} ms`)
    await delay(POLL_INTERVAL_MS)
  }
}
