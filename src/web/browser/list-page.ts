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
 * Paging back usually ends with fewer animals than fit on a page. The first page is fetched instead, which has these
 * and the ones that follow. Any other page that nothing precedes is the first page already.
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
