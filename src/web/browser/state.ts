// What the page shows and waits for. The parts of the page share this one object.

import type { Animal } from '../../../client/src/animal-store.ts'
import { type ListLocation, type ListPage, parseListLocation } from './location.ts'

export interface PageState {
  /** The last valid location of the URL. */
  location: ListLocation
  /** What is wrong with the URL. */
  urlProblem: string | undefined
  /** The page of the list on the screen. */
  page: ListPage | undefined
  /** The animal in the panel. */
  animal: Animal | undefined
  /** The user has moved beyond the end of a page: this animal of the next page gets selected. */
  selectNext: 'first' | 'last' | undefined
  /** The user waits for a page, or for the next attempt to load one. */
  isWaiting: boolean
  /** The last request that nobody waits for has failed. A notice says so until a request succeeds. */
  isAway: boolean
  /** The animals are being counted, and the page looks for new ones. */
  isWatching: boolean
}

export function createState(): PageState {
  return {
    location: parseListLocation(''),
    urlProblem: undefined,
    page: undefined,
    animal: undefined,
    selectNext: undefined,
    isWaiting: false,
    isAway: false,
    isWatching: false,
  }
}
