// The page before one that was come to by a link. The service leads forward only, so where that page begins is looked
// for: ids are mostly dense, and then the first guess is right.

import type { AnimalStore } from '../../../client/src/animal-store.ts'
import type { Place } from './location.ts'

/** As many as one question can show. */
const MOST = 100

/** Far more than it takes to close in on any id. */
const MOST_QUESTIONS = 150

/** Where the page begins that ends where `place` begins; the very beginning, if fewer animals come before it. */
export async function placeBefore(store: AnimalStore, place: Place, signal: AbortSignal): Promise<Place> {
  const { status, limit, after: end = 0n } = place
  const wanted = Math.min(limit, MOST)
  /** From the one too few animals follow up to the end, from the other more than one question can show. */
  let tooLate = end
  let tooEarly: bigint | undefined
  let start = end - BigInt(wanted)
  for (let questions = 0; questions < MOST_QUESTIONS; questions++) {
    if (start < 0n) start = 0n
    const { animals } = await store.listAnimals({ status, limit: MOST, after: start, signal })
    const before = animals.filter(({ id }) => id <= end)
    const isWhole = before.length < MOST || before.at(-1)?.id === end
    if (isWhole && before.length >= wanted) return { ...place, after: before.at(-wanted - 1)?.id ?? start }
    if (isWhole && start === 0n) break
    if (isWhole) tooLate = start
    else tooEarly = start
    start = tooEarly === undefined ? end - (end - tooLate) * 4n : (tooEarly + tooLate) / 2n
    // With pages as large as a question, gaps may leave no start that fits: then the pages overlap by a few.
    if (start === tooEarly || start === tooLate) return { ...place, after: start }
  }
  return { ...place, after: undefined }
}
