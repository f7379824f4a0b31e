// Where in the catalogue one is: the address bar says it, so that a link can be shared and Back works.

import { parseStatus, type Status } from '../../animal.ts'
import { invalid } from '../../error.ts'
import { canonicalInteger } from '../../json.ts'

export interface Place {
  readonly status: Status | undefined
  readonly limit: number
  readonly after: bigint | undefined
}

export const DEFAULT_LIMIT = 20

/** Throws `invalid_request` for an address that leads nowhere. How many animals a page may have, the service knows. */
export function parsePlace(search: string): Place {
  const query = new URLSearchParams(search)
  const status = query.get('status')
  const limit = query.get('limit')
  const after = query.get('after')
  return {
    status: status === null ? undefined : parseStatus(status),
    limit: limit === null ? DEFAULT_LIMIT : parseLimit(limit),
    after: after === null ? undefined : parseAfter(after),
  }
}

function parseLimit(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw invalid('limit must be a whole number.')
  return Number(text)
}

function parseAfter(text: string): bigint {
  const after = canonicalInteger(text)
  if (after === undefined) throw invalid('after must be the id of an animal.')
  return after
}

export function addressOf({ status, limit, after }: Place): string {
  const query = new URLSearchParams()
  if (status !== undefined) query.set('status', status)
  if (limit !== DEFAULT_LIMIT) query.set('limit', String(limit))
  if (after !== undefined) query.set('after', String(after))
  const search = query.toString()
  return search === '' ? '/' : `/?${search}`
}
