// The query of listPets: limit, status and after, each at most once, and nothing else.

import { PAGE_LIMIT, parseStatus } from '../../animal.ts'
import { invalid } from '../../error.ts'
import { canonicalInteger } from '../../json.ts'
import type { Page } from '../../store.ts'

const PARAMETERS = ['limit', 'status', 'after']

export function parseListQuery(text: string): Page {
  // URLSearchParams drops a leading question mark, which here is the second one and belongs to a name.
  const query = new URLSearchParams(text.startsWith('?') ? `%3F${text.slice(1)}` : text)
  // Ignoring an unknown filter would give a wrong answer (docs/decisions/unknown-parameters.md).
  for (const name of query.keys()) {
    if (!PARAMETERS.includes(name)) throw invalid(`The query may contain only ${PARAMETERS.join(', ')}.`)
    if (query.getAll(name).length > 1) throw invalid(`${name} must be given at most once.`)
  }
  const limit = query.get('limit')
  const status = query.get('status')
  const after = query.get('after')
  return {
    limit: limit === null ? PAGE_LIMIT.default : parseLimit(limit),
    status: status === null ? undefined : parseStatus(status),
    after: after === null ? undefined : parseAfter(after),
  }
}

/** The next page has the same limit and status. */
export function nextPageUrl({ limit, status }: Page, after: bigint): string {
  return `/v1/pets?limit=${limit}${status === undefined ? '' : `&status=${status}`}&after=${after}`
}

export function invalidLimit() {
  return invalid(`limit must be a whole number from ${PAGE_LIMIT.minimum} to ${PAGE_LIMIT.maximum}.`)
}

function parseLimit(text: string): number {
  const limit = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : 0
  if (limit < PAGE_LIMIT.minimum || limit > PAGE_LIMIT.maximum) throw invalidLimit()
  return limit
}

function parseAfter(text: string): bigint {
  const after = canonicalInteger(text)
  if (after === undefined) throw invalid('after must be a 64-bit integer in plain decimal digits.')
  return after
}
