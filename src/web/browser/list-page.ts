// One page of the list as it is shown: the animals in their order on the screen, and where the pages around it are.

import type { Animal, AnimalStore, Page } from '../../../client/src/animal-store.ts'
import { firstPage, isFirstPage, type ListLocation, toListOptions } from './location.ts'

export interface ListPage {
  readonly animals: readonly Animal[]
  readonly location: ListLocation
  readonly previous: ListLocation | undefined
  readonly next: ListLocation | undefined
}

/**
 * A user who pages back to the beginning usually gets fewer animals than fit on a page. The first page is fetched then,
 * which has these animals and the next ones. A user may also reach the beginning in another way, such as by an id. That
 * page already has the animals of the first page, so only its location changes.
 */
export async function fetchListPage(
  store: AnimalStore,
  location: ListLocation,
  signal: AbortSignal,
): Promise<ListPage> {
  const page = toListPage(await store.listAnimals({ ...toListOptions(location), signal }), location)
  const isBackward = (location.order === 'oldest' ? location.before : location.after) !== undefined
  if (page.previous !== undefined || page.animals.length === 0 || isFirstPage(location)) return page
  const first = firstPage(location)
  if (!isBackward) return { ...page, location: first }
  return toListPage(await store.listAnimals({ ...toListOptions(first), signal }), first)
}

function toListPage({ animals, previous, next }: Page, location: ListLocation): ListPage {
  const older = previous && { ...firstPage(location), before: previous.before }
  const newer = next && { ...firstPage(location), after: next.after }
  return location.order === 'oldest'
    ? { animals, location, previous: older, next: newer }
    : { animals: animals.toReversed(), location, previous: newer, next: older }
}
