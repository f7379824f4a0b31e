// Short forms for tests that store animals without the service.

import type { NewAnimal } from '../../src/animal.ts'
import { requestDigest } from '../../src/idempotency.ts'
import type { Store } from '../../src/store.ts'
import type { Outcome } from '../../src/write.ts'

export interface Creation {
  readonly animal: NewAnimal
  readonly idempotency?: { readonly scope: string; readonly key: string }
}

/** Stores animals in one batch. */
export function createAnimals(
  store: Pick<Store, 'write'>,
  creations: readonly Creation[],
): Promise<Outcome[]> {
  return store.write(
    creations.map(({ animal, idempotency }) => ({
      kind: 'create',
      animal,
      ...(idempotency && {
        idempotency: {
          ...idempotency,
          request: requestDigest({ kind: 'create', ...animal }),
        },
      }),
    })),
  )
}
