// Finds one page of the list. The API examines a limited number of animals for each request of a search, and has no filter for
// animals without a status, so a page may need several requests.

import { type Animal, type ListOptions, MAX_ID, type Page } from '../../../client/src/animal-store.ts'
import { MAX_EXAMINED, PAGE_LIMIT } from '../../animal.ts'
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
}

/**
 * A user who pages back to the beginning usually gets fewer animals than fit on a page. The first page is listed then,
 * which has these animals and the next ones. A user may also reach the beginning in another way, such as by an id. That
 * page already has the animals of the first page, so only its location changes.
 */
export async function findListPage(location: ListLocation, options: ListPageOptions): Promise<ListPage> {
  const page = await collect(location, options)
  const { order, after, before, search } = location
  const isBackward = (order === 'oldest' ? before : after) !== undefined
  const isBeginning = page.previous === undefined && !isFirstPage(location)
  // No match precedes this page.
  const hasNoMatch = page.animals.length === 0 && isBackward && search !== undefined
  if (!isBeginning || (page.animals.length === 0 && !hasNoMatch)) return page
  const first = firstPage(location)
  return isBackward ? collect(first, options) : { ...page, location: first }
}

/** Follows the links of the API until the page is full, or until no animal is left. */
async function collect(location: ListLocation, { list, beforeMore }: ListPageOptions): Promise<ListPage> {
  const { status, limit } = location
  let request = toListOptions(location)
  const isDescending = request.before !== undefined
  let found: readonly Animal[] = []
  let examined = 0
  let newest: ListOptions | undefined
  let oldest: ListOptions | undefined
  for (let requests = 1; ; requests++) {
    const page = await list(request)
    const matches =
      status === 'none' ? page.animals.filter(animal => animal.status === undefined) : page.animals
    found = isDescending ? [...matches, ...found] : [...found, ...matches]
    // A page that is not full has examined as many animals as one request may.
    examined += page.animals.length === request.limit ? page.animals.length : MAX_EXAMINED
    if (requests === 1 || isDescending) oldest = page.previous
    if (requests === 1 || !isDescending) newest = page.next
    const following = isDescending ? oldest : newest
    if (found.length >= limit || following === undefined)
      return toListPage({ animals: found, previous: oldest, next: newest }, location, requests)
    await beforeMore(
      toListPage({ animals: found, previous: undefined, next: undefined }, location, requests),
      examined,
    )
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

/** Leaves out the animals that do not fit: requests for animals without a status may find more of them. */
function toListPage({ animals, previous, next }: Page, location: ListLocation, requests: number): ListPage {
  const { order, limit } = location
  const isDescending = toListOptions(location).before !== undefined
  const shown = isDescending ? animals.slice(-limit) : animals.slice(0, limit)
  const [first, last] = [shown[0], shown.at(-1)]
  const before = isDescending && shown.length < animals.length ? first?.id : previous?.before
  const after = !isDescending && shown.length < animals.length ? last?.id : next?.after
  const older = before === undefined ? undefined : { ...firstPage(location), before }
  const newer = after === undefined ? undefined : { ...firstPage(location), after }
  return order === 'oldest'
    ? { animals: shown, location, previous: older, next: newer, requests }
    : { animals: shown.toReversed(), location, previous: newer, next: older, requests }
}
