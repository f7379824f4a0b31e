// Moves the clock, so that a test need not wait until a cache entry expires.

import type { TestContext } from 'node:test'

/** Moves `performance.now()` forward until the test ends. Affects only this process, and does not affect timers. */
export function skipTime(t: TestContext, ms: number): void {
  const realNow = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => realNow() + ms)
}
