// The location in the list: filter, search, page size, order, page, and the animal in the panel. It is the query of the
// URL, so that links can be shared and the browser's Back button works.

import type { Animal, ListOptions } from '../../../client/src/animal-store.ts'
import { foldName, STATUS_NAMES, STATUSES, type StatusName, statusNameOf } from '../../animal.ts'
import { canonicalInteger } from '../../int64.ts'
import { PAGE_LIMIT } from '../../page.ts'
import { deviceValue } from './browser-storage.ts'
import { parseInteger } from './typed-integer.ts'

export const ORDERS = ['newest', 'oldest'] as const
export type Order = (typeof ORDERS)[number]

export interface ListLocation {
  readonly status: StatusName | undefined
  /** What the search field has. */
  readonly search: string | undefined
  readonly limit: number
  /** Which animals come first. */
  readonly order: Order
  /** The page shows animals with larger ids. */
  readonly after: bigint | undefined
  /** The page shows animals with smaller ids. The first page has neither `after` nor `before`. */
  readonly before: bigint | undefined
  /** The id of the animal in the panel. */
  readonly animal: bigint | undefined
}

/** The page size that the user chose last, on this device. */
const storedPageSize = deviceValue('animal-store-page-size')

function rememberedPageSize(): number {
  return parsePageSize(storedPageSize.load() ?? '') ?? PAGE_LIMIT.default
}

export function rememberPageSize(size: string): void {
  storedPageSize.save(size)
}

function parsePageSize(text: string): number | undefined {
  const size = /^\d+$/.test(text) ? Number(text) : 0
  return size >= PAGE_LIMIT.minimum && size <= PAGE_LIMIT.maximum ? size : undefined
}

/** Parses the query of a URL, or throws an error with a message for the user. */
export function parseListLocation(query: string): ListLocation {
  const parameters = new URLSearchParams(query)

  function parse<Value>(
    name: string,
    expected: string,
    parseText: (text: string) => Value | undefined,
  ): Value | undefined {
    const text = parameters.get(name)
    const value = text === null ? undefined : parseText(text)
    if (text === null || value !== undefined) return value
    throw new Error(`${name} in this address must be ${expected}, not “${text}”.`)
  }

  return {
    status: parse('status', `${STATUSES.join(', ')} or none`, text =>
      STATUS_NAMES.find(status => status === text),
    ),
    search: parameters.get('q')?.trim() || undefined,
    limit:
      parse('limit', `a number from ${PAGE_LIMIT.minimum} to ${PAGE_LIMIT.maximum}`, parsePageSize) ??
      rememberedPageSize(),
    order: parse('order', ORDERS.join(' or '), text => ORDERS.find(order => order === text)) ?? 'newest',
    after: parse('after', 'an id', canonicalInteger),
    before: parse('before', 'an id', canonicalInteger),
    animal: parse('animal', 'an id', canonicalInteger),
  }
}

/** A relative URL, so that the page works below any prefix. */
export function toUrl({ status, search, limit, order, after, before, animal }: ListLocation): string {
  const query = new URLSearchParams()
  if (status !== undefined) query.set('status', status)
  if (search !== undefined) query.set('q', search)
  // A URL without a page size means the remembered size. Another device may remember another size.
  if (limit !== PAGE_LIMIT.default || rememberedPageSize() !== limit) query.set('limit', String(limit))
  if (order !== 'newest') query.set('order', order)
  if (after !== undefined) query.set('after', String(after))
  if (before !== undefined) query.set('before', String(before))
  if (animal !== undefined) query.set('animal', String(animal))
  const text = query.toString()
  return text === '' ? './' : `./?${text}`
}

/** The URL of the list, whatever the panel shows. */
export function toListUrl(location: ListLocation): string {
  return toUrl({ ...location, animal: undefined })
}

export function firstPage(location: ListLocation): ListLocation {
  return { ...location, after: undefined, before: undefined }
}

export function isFirstPage({ after, before }: ListLocation): boolean {
  return after === undefined && before === undefined
}

/** What the API filters by: `category:7` is a category, and the rest is a part of a name. */
export function toFilters(search = ''): Pick<ListOptions, 'name' | 'categoryId'> {
  const category = /(?<!\S)category:\s*(\S+)/i.exec(search)
  const categoryId = parseInteger(category?.[1] ?? '')
  if (category === null || categoryId === undefined) return { name: search || undefined }
  const around = [search.slice(0, category.index), search.slice(category.index + category[0].length)]
  const name = around
    .map(text => text.trim())
    .filter(Boolean)
    .join(' ')
  return { name: name || undefined, categoryId }
}

/** Whether the list has this animal, on one of its pages. */
export function isInList(animal: Animal, { status, search }: ListLocation): boolean {
  const { name = '', categoryId } = toFilters(search)
  if (status !== undefined && statusNameOf(animal) !== status) return false
  if (categoryId !== undefined && animal.categoryId !== categoryId) return false
  return foldName(animal.name).includes(foldName(name))
}

/** Whether `category:` is not followed by the number of a category. */
export function isCategoryMistyped(search: string): boolean {
  return /(?<!\S)category:/i.test(search) && toFilters(search).categoryId === undefined
}

/** The URL of the animals of a category in this list: with the same status, order and page size. */
export function toCategoryUrl(categoryId: bigint, location: ListLocation): string {
  return toListUrl({ ...firstPage(location), search: `category:${categoryId}` })
}

/** The page that starts with this animal, whatever its status, and the animal in the panel. */
export function pageFrom(id: bigint, order: Order, { limit }: ListLocation): ListLocation {
  const [after, before] = order === 'oldest' ? [id - 1n, undefined] : [undefined, id + 1n]
  const [status, search] = [undefined, undefined]
  // No id precedes the smallest one, and none follows the largest. Their page is the first one.
  const inRange = (bound: bigint | undefined) => canonicalInteger(String(bound))
  return { status, search, limit, order, after: inRange(after), before: inRange(before), animal: id }
}
