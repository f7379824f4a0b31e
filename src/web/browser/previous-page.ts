// Finds the previous page of a page that was opened by a link. The API pages forward only, so this searches for the id
// where the previous page starts. Ids are mostly consecutive, and then the first guess is right.

import type { AnimalStore } from '../../../client/src/animal-store.ts'
import { PAGE_LIMIT } from '../../animal.ts'
import type { ListLocation } from './location.ts'

/** The search needs far fewer requests, whatever the ids are. */
const MAX_REQUESTS = 150

/** Returns the page that ends where `location` starts. This is the first page if fewer than `limit` animals precede it. */
export async function findPreviousPage(
  store: AnimalStore,
  location: ListLocation,
  signal: AbortSignal,
): Promise<ListLocation> {
  const { status, limit, after: end = 0n } = location
  const wanted = Math.min(limit, PAGE_LIMIT.maximum)
  /** From `tooLate` to `end` there are fewer animals than wanted. */
  let tooLate = end
  /** From `tooEarly` to `end` there are more animals than one response can have. */
  let tooEarly: bigint | undefined
  let start = end - BigInt(wanted)
  for (let requests = 0; requests < MAX_REQUESTS; requests++) {
    if (start < 0n) start = 0n
    const { animals } = await store.listAnimals({ status, limit: PAGE_LIMIT.maximum, after: start, signal })
    const before = animals.filter(({ id }) => id <= end)
    const isComplete = before.length < PAGE_LIMIT.maximum || before.at(-1)?.id === end
    if (isComplete && before.length >= wanted) {
      return { ...location, after: before.at(-wanted - 1)?.id ?? start }
    }
    if (isComplete && start === 0n) break
    if (isComplete) tooLate = start
    else tooEarly = start
    start = tooEarly === undefined ? end - (end - tooLate) * 4n : (tooEarly + tooLate) / 2n
    // If a page is as large as a response, gaps may leave no exact start. Then the two pages overlap by a few animals.
    if (start === tooEarly || start === tooLate) return { ...location, after: start }
  }
  return { ...location, after: undefined }
}
