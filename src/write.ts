// A write: a creation, a change or a removal, its conditions and its outcome.

import {
  type Animal,
  type AnimalChanges,
  type NewAnimal,
  type Status,
  type StatusName,
  statusNameOf,
} from './animal.ts'
import { renderAnimal } from './animal-json.ts'
import { tagOf } from './etag.ts'
import type { Idempotency, StoredAnswer } from './idempotency.ts'

/** What the animal must be for a change or a removal to happen. */
export interface Conditions {
  /** The animal has one of these tags. Empty if none of the tags that were sent can be the tag of an animal. */
  readonly ifMatch?: readonly string[] | undefined
  /** The animal has none of these tags. `*` is every tag. */
  readonly ifNoneMatch?: readonly string[] | '*' | undefined
  readonly ifStatus?: StatusName | undefined
}

interface Creation {
  readonly kind: 'create'
  readonly animal: NewAnimal
}

interface Update {
  readonly kind: 'update'
  readonly id: bigint
  readonly changes: AnimalChanges
  readonly conditions: Conditions
}

interface Removal {
  readonly kind: 'delete'
  readonly id: bigint
  readonly conditions: Conditions
}

export type Write = (Creation | Update | Removal) & { readonly idempotency?: Idempotency | undefined }

export type Outcome =
  | { readonly kind: 'created' | 'updated' | 'unchanged'; readonly animal: Animal }
  | { readonly kind: 'deleted'; readonly id: bigint }
  /** A retry: the id and the JSON that the first answer had. The JSON of a removal is empty. Nothing was stored. */
  | { readonly kind: 'replayed'; readonly id: bigint; readonly json: string }
  /** The idempotency key belongs to a different request. Nothing was stored. */
  | { readonly kind: 'key_reused' }
  | { readonly kind: 'missing' }
  /** The tag of the animal is not one that the conditions allow. */
  | { readonly kind: 'other_tag' }
  | { readonly kind: 'other_status'; readonly status: Status | undefined }
  /** The outcome is unknown: it may have been stored. A retry is safe with the same idempotency key. */
  | { readonly kind: 'unavailable'; readonly cause: unknown }

/** Returns what keeps a change or removal of this animal from happening, or undefined. */
export function failedCondition(
  animal: Animal,
  { ifMatch, ifNoneMatch, ifStatus }: Conditions,
): Outcome | undefined {
  if (ifMatch !== undefined || ifNoneMatch !== undefined) {
    const tag = tagOf(renderAnimal(animal))
    const isExcluded = ifNoneMatch === '*' || ifNoneMatch?.includes(tag) === true
    if (ifMatch?.includes(tag) === false || isExcluded) return { kind: 'other_tag' }
  }
  if (ifStatus !== undefined && ifStatus !== statusNameOf(animal))
    return { kind: 'other_status', status: animal.status }
  return undefined
}

/** Returns the first answer if the write is a retry of the request that it belongs to. */
export function replay(write: Write, { request, id, answer }: StoredAnswer): Outcome {
  const isRetry =
    request === null
      ? write.kind === 'create' && answer === renderAnimal({ id, ...write.animal })
      : request === write.idempotency?.request
  return isRetry && answer !== null ? { kind: 'replayed', id, json: answer } : { kind: 'key_reused' }
}
