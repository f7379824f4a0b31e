// What the page shows and waits for. The parts of the page share this one object.

import type { Animal, Inventory } from '../../../client/src/animal-store.ts'
import type { ListPage } from './list-page.ts'
import { parseListLocation } from './location.ts'

export type PageState = ReturnType<typeof createState>

export function createState() {
  return {
    /** The last valid location of the URL. */
    location: parseListLocation(''),
    /** What is wrong with the URL. */
    urlProblem: undefined as string | undefined,
    /** The page of the list on the screen. */
    page: undefined as ListPage | undefined,
    /** The animal in the panel. */
    animal: undefined as Animal | undefined,
    /** How many animals there are, as far as the page knows. */
    inventory: undefined as Inventory | undefined,
    /** What was known when the page of the list was requested. If there are more animals now, it may lack some. */
    inventoryOfPage: undefined as Inventory | undefined,
    /** The user has moved beyond the end of a page: this animal of the next page gets selected. */
    selectNext: undefined as 'first' | 'last' | undefined,
    /** The user waits for a page, or for the next attempt to load one. */
    isWaiting: false,
    /** The last request that nobody waits for has failed. A notice says so until a request succeeds. */
    isAway: false,
  }
}
