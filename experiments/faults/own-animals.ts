// The animals of a client: what it does to them, and whether the store has them as it left them. Nobody else writes them, so the
// client knows what every answer must be.

import { isDeepStrictEqual } from 'node:util'
import { type Animal, type AnimalChanges, applyChanges } from '../../src/animal.ts'
import { renderAnimal } from '../../src/animal-json.ts'
import { renderTag, tagOf } from '../../src/etag.ts'
import { renderJson } from '../../src/json.ts'

const RENAMED = ' renamed'

export interface OwnAnimal {
  /** As the answer to its creation had it. */
  readonly created: Animal
  /** As the last acknowledged write has left it. Undefined if it was removed. */
  readonly now: Animal | undefined
  /** The next write may have been carried out, or not: it was sent, and not acknowledged. */
  readonly isUncertain: boolean
}

export interface Change {
  /** What is changed. Undefined for a removal. */
  readonly changes?: (animal: Animal) => AnimalChanges
  readonly condition?: 'If-Match' | 'ifStatus'
}

const sell: Change = {
  changes: ({ status }) => ({ status: status === 'sold' ? 'pending' : 'sold' }),
  condition: 'ifStatus',
}
const rename: Change = { changes: ({ name }) => ({ name: name + RENAMED }), condition: 'If-Match' }
const clear: Change = { changes: () => ({ categoryId: -1n, status: null }) }

/**
 * What a client does to its animals, in turns. No state comes back, and a conditional write that was applied twice would be answered
 * with 409 or 412, and a removal with 404.
 */
const CHANGES: readonly (readonly Change[])[] = [
  [],
  [sell],
  [rename],
  [{}],
  [sell, rename, clear],
  [rename, { condition: 'If-Match' }],
  [clear, { condition: 'ifStatus' }],
]

/** What happens to the animal with this number. */
export function changesFor(number: number): readonly Change[] {
  return CHANGES[number % CHANGES.length] ?? []
}

interface ChangeRequest {
  readonly method: 'PATCH' | 'DELETE'
  readonly path: string
  readonly sent: { readonly idempotencyKey: string; readonly body?: string; readonly ifMatch?: string }
  /** The status of its acknowledgement, and the animal that it leaves. */
  readonly status: 200 | 204
  readonly result: Animal | undefined
}

export function requestFor(
  { changes, condition }: Change,
  animal: Animal,
  idempotencyKey: string,
): ChangeRequest {
  const path = `/v1/pets/${animal.id}`
  const changed = changes?.(animal)
  return {
    method: changed ? 'PATCH' : 'DELETE',
    path: condition === 'ifStatus' ? `${path}?ifStatus=${animal.status ?? 'none'}` : path,
    sent: {
      idempotencyKey,
      ...(changed && { body: renderJson(changed) }),
      ...(condition === 'If-Match' && { ifMatch: renderTag(tagOf(renderAnimal(animal))) }),
    },
    status: changed ? 200 : 204,
    result: changed && applyChanges(animal, changed),
  }
}

/** `added` are names that somebody else has added. */
export function compare(
  own: Iterable<OwnAnimal>,
  stored: readonly Animal[],
  added: readonly string[] = [],
): { readonly lost: number; readonly duplicated: number } {
  const byId = new Map(stored.map(animal => [animal.id, animal]))
  const names = new Set(stored.map(({ name }) => name))
  const ids = new Map<string, Set<bigint>>()
  const addId = ({ name, id }: Animal) => {
    const original = name.replace(RENAMED, '')
    ids.set(original, (ids.get(original) ?? new Set()).add(id))
  }
  stored.forEach(addId)
  let lost = added.filter(name => !names.has(name)).length
  for (const { created, now, isUncertain } of own) {
    addId(created)
    if (!isUncertain && !isDeepStrictEqual(byId.get(created.id), now)) lost++
  }
  // An id that the list has twice counts as well.
  let duplicated = stored.length - byId.size
  for (const { size } of ids.values()) duplicated += size - 1
  return { lost, duplicated }
}
