// All that changes the database, each a transaction of its own.

import { type Animal, isSameAnimal, type Status } from '../animal.ts'
import { type ApiKey, type Environment, isInForce } from '../api-key.ts'
import { toAnimal, toKey } from '../rows.ts'
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

/** Creations as one list of plain values, which goes from thread to thread in half the time that objects take. */
export type CreationValue = string | bigint | undefined

const VALUES_EACH = 5

export function toValues(creations: readonly Creation[]): CreationValue[] {
  return creations.flatMap(({ animal: { name, categoryId, status }, idempotency }) => [
    name,
    categoryId,
    status,
    idempotency?.scope,
    idempotency?.key,
  ])
}

function fromValues(values: readonly CreationValue[], at: number): Creation {
  const [name, categoryId, status, scope, key] = values.slice(at, at + VALUES_EACH) as [
    string,
    bigint,
    Status | undefined,
    string | undefined,
    string | undefined,
  ]
  const animal = status === undefined ? { name, categoryId } : { name, categoryId, status }
  return { animal, idempotency: scope === undefined || key === undefined ? undefined : { scope, key } }
}

export function writesOn({ write }: Connection<Statements>) {
  return {
    /** Takes the values of each creation in turn; of one that was stored only the id is returned. */
    createAnimals(values: readonly CreationValue[], now: number): Promise<(bigint | Repeated)[]> {
      return write(statements => {
        const outcomes: (bigint | Repeated)[] = []
        for (let at = 0; at < values.length; at += VALUES_EACH) {
          outcomes.push(createAnimal(statements, fromValues(values, at), now))
        }
        return outcomes
      })
    },

    forgetIdempotencyKeys(atMost: number, now: number): Promise<number> {
      return write(({ forget }) => Number(forget.run(now - IDEMPOTENCY_WINDOW_MS, atMost).changes))
    },

    createKey(key: ApiKey): Promise<void> {
      return write(statements => insertKey(statements, key))
    },

    createFirstKey(key: ApiKey): Promise<boolean> {
      return write(statements => {
        if (statements.hasKeys.get(key.environment) !== undefined) return false
        insertKey(statements, key)
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
        if (row === undefined || !isInForce(toKey(row), successor.createdAt)) return false
        insertKey(statements, successor)
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

function insertKey({ insertKey }: Statements, key: ApiKey): void {
  insertKey.run(
    key.id,
    key.name,
    key.environment,
    Buffer.from(key.digest, 'hex'),
    key.scope,
    key.createdAt.getTime(),
    key.expiresAt?.getTime() ?? null,
    key.revokedAt?.getTime() ?? null,
  )
}
