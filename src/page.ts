// A page of a list: its limits, what it may be filtered by, and what a database returns of it.

import type { Status } from './animal.ts'

/** How many animals a page may have. */
export const PAGE_LIMIT = { minimum: 1, maximum: 100, default: 20 } as const

/** The longest text that a search for a name may have. */
export const SEARCH_MAX_LENGTH = 100

/**
 * The most animals that one search examines. A search that has not filled its page by then returns what it has found, and where
 * to go on (docs/decisions/search.md).
 */
export const MAX_EXAMINED = 10_000

export interface Page {
  readonly limit: number
  /** The first animals with a larger id. */
  readonly after?: bigint | undefined
  /** The last animals with a smaller id. A page has at most one of `after` and `before`. */
  readonly before?: bigint | undefined
  /** Only animals with this status. An animal without a status is in no filtered page. */
  readonly status?: Status | undefined
  /** Only animals whose folded name contains this text, which is folded too. */
  readonly nameContains?: string | undefined
  readonly categoryId?: bigint | undefined
}

export interface JsonPage {
  /** The animals as a JSON array. */
  readonly json: string
  /**
   * The `before` of the previous page: the smallest id of this page. Of a search, the smallest id that it has examined. Undefined
   * if no animal (with that status) has a smaller one, or if there is no such id.
   */
  readonly previous: bigint | undefined
  /** The `after` of the next page: the largest id of this page, or the largest that a search has examined. */
  readonly next: bigint | undefined
}

/** Whether the page is a search: no index finds its animals, so it examines one after the other. */
export function isSearch({ nameContains, categoryId }: Page): boolean {
  return nameContains !== undefined || categoryId !== undefined
}
