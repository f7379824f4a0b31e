// The location in the list: status filter, page size and first animal. It is part of the URL, so that links can be
// shared and the browser's Back button works.

import { PAGE_LIMIT, parseStatus, type Status } from '../../animal.ts'
import { invalid } from '../../error.ts'
import { canonicalInteger } from '../../json.ts'

export interface ListLocation {
  readonly status: Status | undefined
  readonly limit: number
  /** The page shows animals with a larger id. Undefined on the first page. */
  readonly after: bigint | undefined
}

/** Parses the query of a URL, or throws `invalid_request`. The server checks the range of `limit`. */
export function parseListLocation(search: string): ListLocation {
  const query = new URLSearchParams(search)
  const status = query.get('status')
  const limit = query.get('limit')
  const after = query.get('after')
  return {
    status: status === null ? undefined : parseStatus(status),
    limit: limit === null ? PAGE_LIMIT.default : parseLimit(limit),
    after: after === null ? undefined : parseAfter(after),
  }
}

function parseLimit(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw invalid('limit must be a whole number.')
  return Number(text)
}

function parseAfter(text: string): bigint {
  const after = canonicalInteger(text)
  if (after === undefined) throw invalid('after must be a whole number.')
  return after
}

export function toUrl({ status, limit, after }: ListLocation): string {
  const query = new URLSearchParams()
  if (status !== undefined) query.set('status', status)
  if (limit !== PAGE_LIMIT.default) query.set('limit', String(limit))
  if (after !== undefined) query.set('after', String(after))
  const search = query.toString()
  // Relative, because a proxy may serve the page below any prefix.
  return search === '' ? './' : `./?${search}`
}
