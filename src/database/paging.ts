// A page as both databases read it, and what decides whether it has a previous and a next one.

import type { Status } from '../animal.ts'
import { INT64_MAX, INT64_MIN } from '../int64.ts'
import { isSearch, type JsonPage, type Page } from '../page.ts'

/** The page after the largest id. */
export const EMPTY_PAGE: JsonPage = { json: '[]', previous: undefined, next: undefined }

/** What a statement finds out about a page. */
export interface FoundPage {
  /** The animals as a JSON array. */
  readonly json: string
  /** The smallest and the largest id of the page; of a search, those that it has examined. Undefined if there is none. */
  readonly first: bigint | undefined
  readonly last: bigint | undefined
  /** Whether an animal, of the status of the page, has a smaller id than the first, and a larger one than the last. */
  readonly isAnyBefore: boolean
  readonly isAnyAfter: boolean
}

/** The one rule of paging (docs/decisions/lists.md). */
export function toPage({ json, first, last, isAnyBefore, isAnyAfter }: FoundPage): JsonPage {
  return { json, previous: isAnyBefore ? first : undefined, next: isAnyAfter ? last : undefined }
}

/** The animals from an inclusive bound on, or those before an exclusive one. */
export interface PageScan {
  readonly isBackward: boolean
  readonly bound: bigint
  /** 0 if the page is after the largest id. */
  readonly limit: number
  readonly status: Status | undefined
  /** Only animals of this category, and with this text in their folded names. Undefined for a page that is no search. */
  readonly search: Pick<Page, 'categoryId' | 'nameContains'> | undefined
}

export function toPageScan(page: Page): PageScan {
  const { after, before, limit, status } = page
  const search = isSearch(page) ? page : undefined
  if (before !== undefined) return { isBackward: true, bound: before, limit, status, search }
  // No id follows the largest one. Others are incremented, because a page may start with the smallest one.
  const bound = after === undefined ? INT64_MIN : after === INT64_MAX ? after : after + 1n
  return { isBackward: false, bound, limit: after === INT64_MAX ? 0 : limit, status, search }
}

/** Scans of the same form have the same statement, with other values. There are eight forms. */
export function formOf({ isBackward, status, search }: PageScan): number {
  return (isBackward ? 1 : 0) + (status === undefined ? 0 : 2) + (search === undefined ? 0 : 4)
}
