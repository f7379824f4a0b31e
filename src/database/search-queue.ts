// The queue of the searches of a process. A search takes a hundred times as long as a page, so only a few run at a time, and other
// requests pass them (docs/decisions/search.md).

import { unavailable } from '../error.ts'
import type { JsonPage } from '../page.ts'
import { createBatcher } from './batching.ts'
import type { PageScan } from './paging.ts'

const QUEUE_LENGTH = 1_024
const QUEUE_TIMEOUT_MS = 1_000

/** Runs at most `inFlight` searches at the same time. Rejects one that has waited too long. */
export function createSearchQueue(run: (scan: PageScan) => Promise<JsonPage>, inFlight: number) {
  return createBatcher<PageScan, JsonPage>({
    async run(scans) {
      const [scan] = scans as [PageScan]
      return [await run(scan)]
    },
    limits: { size: 1, queueLength: QUEUE_LENGTH, inFlight },
    queueTimeoutMs: QUEUE_TIMEOUT_MS,
    turns: 1,
    overloaded: () => unavailable({ message: 'Too many searches are running. Try again shortly.' }),
  })
}
