// Creations whose idempotency key is the same as that of a creation that is still being stored.

import { isSameAnimal } from '../animal.ts'
import type { Creation, Outcome, Store } from '../store.ts'

type CreateAnimals = Store['createAnimals']

/**
 * Returns the same function, except that a repeated creation waits for the first one and gets its animal. It does not
 * wait in the queue of batches, where it could time out although the first one is stored.
 */
export function joinRepeatedCreations(createAnimals: CreateAnimals): CreateAnimals {
  const firsts = new Map<string, Promise<Outcome[]>>()

  function createFirst(key: string, creation: Creation): Promise<Outcome[]> {
    const created = createAnimals([creation])
    const remove = () => firsts.delete(key)
    created.then(remove, remove)
    firsts.set(key, created)
    return created
  }

  async function repeat(first: Promise<Outcome[]>, creation: Creation): Promise<Outcome[]> {
    const [outcome] = await first
    // The first one stored nothing, so its outcome says nothing about this animal.
    if (outcome === undefined || !('animal' in outcome)) return createAnimals([creation])
    const { animal } = outcome
    return [isSameAnimal(animal, creation.animal) ? { kind: 'replayed', animal } : { kind: 'key_reused' }]
  }

  return creations => {
    const [creation, second] = creations
    if (creation?.idempotency === undefined || second !== undefined) return createAnimals(creations)
    const key = JSON.stringify([creation.idempotency.scope, creation.idempotency.key])
    const first = firsts.get(key)
    return first === undefined ? createFirst(key, creation) : repeat(first, creation)
  }
}
