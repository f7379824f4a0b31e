// The location in the list: status filter, page size, order and page. It is part of the URL, so that links can be
// shared and the browser's Back button works.

import { type ListOptions, MAX_ID } from '../../../client/src/animal-store.ts'
import { PAGE_LIMIT, parseStatus, type Status } from '../../animal.ts'
import { invalid } from '../../error.ts'
import { canonicalInteger } from '../../json.ts'
import { rememberedPageSize } from './page-size.ts'

const ORDERS = ['oldest', 'newest'] as const
export type Order = (typeof ORDERS)[number]

export interface ListLocation {
  readonly status: Status | undefined
  readonly limit: number
  /** Which animals come first. */
  readonly order: Order
  /** The page shows animals with larger ids. */
  readonly after: bigint | undefined
  /** The page shows animals with smaller ids. The first page has neither `after` nor `before`. */
  readonly before: bigint | undefined
}

/** Parses the query of a URL, or throws `invalid_request`. The server checks the range of `limit`. */
export function parseListLocation(search: string): ListLocation {
  const query = new URLSearchParams(search)
  const status = query.get('status')
  const limit = query.get('limit')
  return {
    status: status === null ? undefined : parseStatus(status),
    limit: limit === null ? rememberedPageSize() : parseLimit(limit),
    order: parseOrder(query.get('order')),
    after: parseId('after', query.get('after')),
    before: parseId('before', query.get('before')),
  }
}

function parseLimit(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw invalid('limit must be a whole number.')
  return Number(text)
}

function parseOrder(text: string | null): Order {
  const order = ORDERS.find(order => order === (text ?? 'oldest'))
  if (order === undefined) throw invalid(`order must be one of ${ORDERS.join(', ')}.`)
  return order
}

function parseId(name: string, text: string | null): bigint | undefined {
  if (text === null) return undefined
  const id = canonicalInteger(text)
  if (id === undefined) throw invalid(`${name} must be a whole number.`)
  return id
}

/** A relative URL, so that the page works below any prefix. */
export function toUrl({ status, limit, order, after, before }: ListLocation): string {
  const query = new URLSearchParams()
  if (status !== undefined) query.set('status', status)
  // A URL without a page size means the remembered size. Another device may remember another size.
  if (limit !== PAGE_LIMIT.default || rememberedPageSize() !== limit) query.set('limit', String(limit))
  if (order !== 'oldest') query.set('order', order)
  if (after !== undefined) query.set('after', String(after))
  if (before !== undefined) query.set('before', String(before))
  const search = query.toString()
  return search === '' ? './' : `./?${search}`
}

/** What to ask the API for. The API lists by ascending id; the page reverses the newest animals. */
export function toListOptions({ status, limit, order, after, before }: ListLocation): ListOptions {
  const isNewestPage = order === 'newest' && after === undefined && before === undefined
  return { status, limit, after, before: isNewestPage ? MAX_ID : before }
}

export function firstPage(location: ListLocation): ListLocation {
  return { ...location, after: undefined, before: undefined }
}

export function isFirstPage({ after, before }: ListLocation): boolean {
  return after === undefined && before === undefined
}

/** The page that starts with this id, whatever the status. For the smallest possible id, this is the first page. */
export function pageFrom(id: bigint, { limit }: ListLocation): ListLocation {
  const after = canonicalInteger(String(id - 1n))
  return { status: undefined, limit, order: 'oldest', after, before: undefined }
}

/** The page that starts with this id, newest first. For the largest possible id, this is the first page. */
export function newestPageFrom(id: bigint, { limit }: ListLocation): ListLocation {
  const before = canonicalInteger(String(id + 1n))
  return { status: undefined, limit, order: 'newest', after: undefined, before }
}
