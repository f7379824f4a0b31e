// What both databases share: rows as domain values and back, and where a page starts.

import { type Animal, type AnimalText, type Inventory, isStatus, type Status } from '../animal.ts'
import { type ApiKey, ENVIRONMENTS } from '../api-key.ts'
import { INT64_MAX, INT64_MIN } from '../json.ts'
import { isSearch, type JsonPage, type Page } from '../store.ts'

export type Row = Readonly<Record<string, unknown>>

/** Takes id, name, category_id and status, in this order. Integers must be `bigint`. */
export function toAnimal(values: readonly unknown[]): Animal {
  const [id, name, categoryId, status] = values as [bigint, string, bigint, string | null]
  return status === null ? { id, name, categoryId } : { id, name, categoryId, status: checkStatus(status) }
}

/** Takes the same values as text, for animals that are only rendered. */
export function toAnimalText(values: readonly (string | null)[]): AnimalText {
  const [id, name, categoryId, status] = values as [string, string, string, string | null]
  return { id, name, categoryId, status: status === null ? undefined : checkStatus(status) }
}

/** Takes the numbers of animals that are available, pending, sold and without a status, in this order. */
export function toInventory(values: readonly unknown[]): Inventory {
  const [available, pending, sold, none] = values as [bigint, bigint, bigint, bigint]
  return { available, pending, sold, none }
}

function checkStatus(status: string): Status {
  if (!isStatus(status)) throw new Error('an animal is stored with an unknown status')
  return status
}

export function toKey(row: Row): ApiKey {
  const environment = ENVIRONMENTS.find(known => known === row.environment)
  if (environment === undefined) throw new Error('an API key is stored with an unknown environment')
  return {
    id: row.id as string,
    name: row.name as string,
    environment,
    digest: Buffer.from(row.digest as Uint8Array).toString('hex'),
    idempotencyScope: row.scope as string,
    createdAt: new Date(Number(row.created_at)),
    expiresAt: toDate(row.expires_at),
    revokedAt: toDate(row.revoked_at),
  }
}

/** Returns the values of a key in the order of its columns. */
export function keyValues(key: ApiKey): (string | number | Buffer | null)[] {
  return [
    key.id,
    key.name,
    key.environment,
    Buffer.from(key.digest, 'hex'),
    key.idempotencyScope,
    key.createdAt.getTime(),
    key.expiresAt?.getTime() ?? null,
    key.revokedAt?.getTime() ?? null,
  ]
}

function toDate(time: unknown): Date | undefined {
  return time === null ? undefined : new Date(Number(time))
}

/** The page after the largest id. */
export const EMPTY_PAGE: JsonPage = { json: '[]', previous: undefined, next: undefined }

/** A page as both databases read it: the animals from an inclusive bound on, or those before an exclusive one. */
export interface Span {
  readonly isBackward: boolean
  readonly bound: bigint
  /** 0 if the page is after the largest id. */
  readonly limit: number
  readonly status: Status | undefined
  /** Only animals of this category, and with this text in their folded names. Undefined for a page that is no search. */
  readonly search: Pick<Page, 'categoryId' | 'nameContains'> | undefined
}

export function toSpan(page: Page): Span {
  const { after, before, limit, status } = page
  const search = isSearch(page) ? page : undefined
  if (before !== undefined) return { isBackward: true, bound: before, limit, status, search }
  // No id follows the largest one. Others are incremented, because a page may start with the smallest one.
  const bound = after === undefined ? INT64_MIN : after === INT64_MAX ? after : after + 1n
  return { isBackward: false, bound, limit: after === INT64_MAX ? 0 : limit, status, search }
}

/** Spans of the same form have the same statement, with other values. There are eight forms. */
export function formOf({ isBackward, status, search }: Span): number {
  return (isBackward ? 1 : 0) + (status === undefined ? 0 : 2) + (search === undefined ? 0 : 4)
}
