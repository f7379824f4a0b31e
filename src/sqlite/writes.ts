// All that changes the database, each a transaction of its own.

import { type Animal, isSameAnimal } from '../animal.ts'
import { type ApiKey, type Environment, isInForce } from '../api-key.ts'
import { keyValues, toAnimal, toKey } from '../rows.ts'
import { type Creation, IDEMPOTENCY_WINDOW_MS } from '../store.ts'
import type { Connection } from './connection.ts'
import type { Statements } from './statements.ts'

export type Writes = ReturnType<typeof writesOn>

/** Runs the named write; its arguments and its result can be sent from thread to thread. */
export type Write = <Name extends keyof Writes>(
  name: Name,
  ...args: Parameters<Writes[Name]>
) => ReturnType<Writes[Name]>

/** What becomes of a creation that stores nothing. */
export type Repeated =
  | { readonly kind: 'replayed'; readonly animal: Animal }
  | { readonly kind: 'key_reused' }

export function writesOn({ write }: Connection<Statements>) {
  return {
    /** Of one that was stored only the id is returned. */
    createAnimals(creations: readonly Creation[], now: number): Promise<(bigint | Repeated)[]> {
      return write(statements => creations.map(creation => createAnimal(statements, creation, now)))
    },

    forgetIdempotencyKeys(atMost: number, now: number): Promise<number> {
      return write(({ forget }) => Number(forget.run(now - IDEMPOTENCY_WINDOW_MS, atMost).changes))
    },

    createKey(key: ApiKey): Promise<void> {
      return write(({ insertKey }) => void insertKey.run(...keyValues(key)))
    },

    createFirstKey(key: ApiKey): Promise<boolean> {
      return write(statements => {
        if (statements.hasKeys.get(key.environment) !== undefined) return false
        statements.insertKey.run(...keyValues(key))
        return true
      })
    },

    revokeKey(id: string, environment: Environment, at: Date): Promise<ApiKey | undefined> {
      return write(({ revokeKey, findKey }) => {
        revokeKey.run(at.getTime(), id, environment)
        const row = findKey.get(id, environment)
        return row && toKey(row)
      })
    },

    rotateKey(id: string, successor: ApiKey, expiresAt: Date): Promise<boolean> {
      return write(statements => {
        const row = statements.findKey.get(id, successor.environment)
        if (row === undefined || !isInForce(toKey(row), successor.createdAt.getTime())) return false
        statements.insertKey.run(...keyValues(successor))
        statements.expireKey.run(expiresAt.getTime(), id, successor.environment)
        return true
      })
    },
  }
}

function createAnimal(
  statements: Statements,
  { animal, idempotency }: Creation,
  now: number,
): bigint | Repeated {
  if (idempotency !== undefined) {
    const { scope, key } = idempotency
    const remembered = statements.findRemembered.get(scope, key, now - IDEMPOTENCY_WINDOW_MS)
    if (remembered !== undefined) {
      const first = toAnimal(remembered)
      return isSameAnimal(first, animal) ? { kind: 'replayed', animal: first } : { kind: 'key_reused' }
    }
  }
  const { lastInsertRowid } = statements.insertAnimal.run(
    animal.name,
    animal.categoryId,
    animal.status ?? null,
  )
  const id = BigInt(lastInsertRowid)
  if (idempotency !== undefined) statements.remember.run(idempotency.scope, idempotency.key, id, now)
  return id
}
