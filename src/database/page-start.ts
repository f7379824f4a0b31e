// Where a page without `before` starts. The bound is inclusive, so that a page can start with the smallest int64.

import { INT64_MAX, INT64_MIN } from '../json.ts'
import type { PageAfter } from '../store.ts'

export interface PageStart {
  /** The smallest id that the page may have. */
  readonly start: bigint
  readonly limit: number
}

export function pageStart({ limit, after }: PageAfter): PageStart {
  if (after === undefined) return { start: INT64_MIN, limit }
  // No id follows the largest int64.
  return after === INT64_MAX ? { start: after, limit: 0 } : { start: after + 1n, limit }
}
