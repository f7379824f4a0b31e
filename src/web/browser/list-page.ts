// Finds one page of the list. The API examines a limited number of animals for each request of a search, and has no filter for
// animals without a status, so a page may need several requests.

import { type Animal, type ListOptions, MAX_ID, type Page } from '../../../client/src/animal-store.ts'
import { canonicalInteger } from '../../int64.ts'
import { MAX_EXAMINED, PAGE_LIMIT } from '../../page.ts'
import { firstPage, isFirstPage, type ListLocation, toFilters } from './location.ts'

/** One page of the list as it is shown: the animals in their order on the screen, and where the pages around it are. */
export interface ListPage {
  readonly animals: readonly Animal[]
  readonly location: ListLocation
  readonly previous: ListLocation | undefined
  readonly next: ListLocation | undefined
  /** How many requests it took. */
  readonly requests: number
}

export interface ListPageOptions {
  readonly list: (options: ListOptions) => Promise<Page>
  /** Called before each further request, with the animals found so far. */
  readonly beforeMore: (found: ListPage, examined: number) => Promise<void>
  /** Tells whether all animals of this status were counted, and there is none: then no further request can find one. */
  readonly isCountedEmpty: () => boolean
}

/**
 * A user who pages back to the beginning usually gets fewer animals than fit on a page. The first page is listed then,
 * which has these animals and the next ones. A user may also reach the beginning in another way, such as by an id. That
 * page already has the animals of the first page, so only its location changes.
 */
export async function findListPage(location: ListLocation, options: ListPageOptions): Promise<ListPage> {
  const page = await collect(location, options)
  const { order, after, before, search, status } = location
  const isBackward = (order === 'oldest' ? before : after) !== undefined
  const isEmpty = page.animals.length === 0
  const isFiltered = search !== undefined || status === 'none'
  if (page.previous !== undefined || isFirstPage(location)) return page
  // A user who turns back in a search finds nothing if no match comes before: the first page is the one to show.
  if (isEmpty && !(isBackward && isFiltered)) return page
  const first = firstPage(location)
  return isBackward ? collect(first, options) : { ...page, location: first }
}

/**
 * What to ask the API for to read the animals of a page again, with those that are new if the page is where new animals
 * appear. One request is enough for a page that one request has found.
 */
export function toRereadOptions(page: ListPage): ListOptions {
  const { animals, location } = page
  const smallest = animals.map(({ id }) => id).reduce((one, other) => (one < other ? one : other))
  const isExact = !showsNewAnimals(page) && location.status !== 'none'
  return {
    ...toFilters(location.search),
    status: location.status === 'none' ? undefined : location.status,
    limit: isExact ? Math.min(animals.length, PAGE_LIMIT.maximum) : PAGE_LIMIT.maximum,
    // No id precedes the smallest one.
    after: canonicalInteger(String(smallest - 1n)),
  }
}

/** New animals appear at one end of the list. */
export function showsNewAnimals({ location, next }: ListPage): boolean {
  return location.order === 'newest' ? isFirstPage(location) : next === undefined
}

/** Follows the links of the API until the page is full, or until no animal is left. */
async function collect(location: ListLocation, options: ListPageOptions): Promise<ListPage> {
  const { list, beforeMore, isCountedEmpty } = options
  const { status, limit, order } = location
  let request = toListOptions(location)
  const isDescending = request.before !== undefined
  let found: readonly Animal[] = []
  let examined = 0
  /** The `before` of the page with smaller ids, and the `after` of the one with larger ids, if there is one. */
  let older: bigint | undefined
  let newer: bigint | undefined

  function toListPage(requests: number, isComplete: boolean): ListPage {
    const pageAt = (bounds: Pick<ListOptions, 'after' | 'before'>) => ({ ...firstPage(location), ...bounds })
    const olderPage = isComplete && older !== undefined ? pageAt({ before: older }) : undefined
    const newerPage = isComplete && newer !== undefined ? pageAt({ after: newer }) : undefined
    return order === 'oldest'
      ? { animals: found, location, previous: olderPage, next: newerPage, requests }
      : { animals: found.toReversed(), location, previous: newerPage, next: olderPage, requests }
  }

  for (let requests = 1; ; requests++) {
    const page = await list(request)
    const matches =
      status === 'none' ? page.animals.filter(animal => animal.status === undefined) : page.animals
    found = isDescending ? [...matches, ...found] : [...found, ...matches]
    // A page that is not full has examined as many animals as one request may.
    examined += page.animals.length === request.limit ? page.animals.length : MAX_EXAMINED
    if (requests === 1 || isDescending) older = page.previous?.before
    if (requests === 1 || !isDescending) newer = page.next?.after
    if (found.length > limit) {
      // A request for animals without a status may find more than fit.
      found = isDescending ? found.slice(-limit) : found.slice(0, limit)
      if (isDescending) older = found[0]?.id
      else newer = found.at(-1)?.id
    }
    const isEmpty = found.length === 0 && isCountedEmpty()
    if (isEmpty) older = newer = undefined
    const following = isDescending ? page.previous : page.next
    if (isEmpty || found.length === limit || following === undefined) return toListPage(requests, true)
    await beforeMore(toListPage(requests, false), examined)
    request = following
  }
}

/** What to ask the API for. The API lists by ascending id; the page reverses the newest animals. */
function toListOptions({ status, search, limit, order, after, before }: ListLocation): ListOptions {
  const isNewestPage = order === 'newest' && after === undefined && before === undefined
  return {
    ...toFilters(search),
    ...(status === 'none' ? { limit: PAGE_LIMIT.maximum } : { status, limit }),
    after,
    before: isNewestPage ? MAX_ID : before,
  }
}
