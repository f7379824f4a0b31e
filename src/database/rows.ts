// Rows as domain values, and back, on both databases.

import { type Animal, type Inventory, isStatus, type Status } from '../animal.ts'
import type { AnimalText } from '../animal-json.ts'
import { ACCESSES, type ApiKey, ENVIRONMENTS } from '../api-key.ts'

type Row = Readonly<Record<string, unknown>>

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
  const access = ACCESSES.find(known => known === row.access)
  if (access === undefined) throw new Error('an API key is stored with an unknown access')
  return {
    id: row.id as string,
    name: row.name as string,
    environment,
    access,
    digest: Buffer.from(row.digest as Uint8Array).toString('hex'),
    idempotencyScope: row.scope as string,
    createdAt: new Date(Number(row.created_at)),
    expiresAt: toDate(row.expires_at),
    revokedAt: toDate(row.revoked_at),
    lastUsed: (row.last_used as string | null) ?? undefined,
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
    key.access,
    key.lastUsed ?? null,
  ]
}

function toDate(time: unknown): Date | undefined {
  return time === null ? undefined : new Date(Number(time))
}
