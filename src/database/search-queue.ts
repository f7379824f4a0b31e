// The queue of the searches of a process. A search takes a hundred times as long as a page, so only a few run at a time, and other
// requests pass them (docs/decisions/search.md).

import { unavailable } from '../error.ts'
import type { JsonPage } from '../page.ts'
import { createBatcher } from './batching.ts'
import type { PageScan } from './paging.ts'

/**
 * How many searches a process runs at once. SQLite blocks the thread: at most one in an event-loop turn, so that other requests are
 * answered between two.
 */
export const SEARCHES_AT_ONCE = { sqlite: 1, postgres: 2 }

const QUEUE_LENGTH = 1_024
const QUEUE_TIMEOUT_MS = 1_000

interface Search {
  readonly scan: PageScan
  /** Whether nobody waits for the search any more. */
  readonly isAbandoned?: (() => boolean) | undefined
}

/** Runs at most `inFlight` searches at the same time. Rejects one that has waited too long, and does not run one that is abandoned. */
export function createSearchQueue(run: (scan: PageScan) => Promise<JsonPage>, inFlight: number) {
  return createBatcher<Search, JsonPage>({
    async run(searches) {
      const [{ scan, isAbandoned = () => false }] = searches as [Search]
      if (isAbandoned()) throw unavailable()
      return [await run(scan)]
    },
    limits: { size: 1, queueLength: QUEUE_LENGTH, inFlight },
    queueTimeoutMs: QUEUE_TIMEOUT_MS,
    turns: 1,
    overloaded: () => unavailable(undefined, 'Too many searches are running. Try again shortly.'),
  })
}
