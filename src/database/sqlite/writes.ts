// Every change to the database. Each runs in its own transaction.

import { type Animal, isSameAnimal } from '../../animal.ts'
import { type ApiKey, type Environment, isActive } from '../../api-key.ts'
import { type Creation, IDEMPOTENCY_WINDOW_MS } from '../../store.ts'
import { type AnimalValue, animalValues, keyValues, toAnimal, toKey } from '../rows.ts'
import { INSERTED_TOGETHER, type Statements } from './statements.ts'
import type { WriteTransactions } from './write-transactions.ts'

export type Writes = ReturnType<typeof createWrites>

/** Runs a write by its name. Arguments and result can be sent between threads. */
export type Write = <Name extends keyof Writes>(
  name: Name,
  ...args: Parameters<Writes[Name]>
) => ReturnType<Writes[Name]>

/** How many values `animalValues` returns. */
const ANIMAL_VALUES = 3

/** The outcome of a creation that stored nothing, because its idempotency key was used before. */
export type Repeated =
  | { readonly kind: 'replayed'; readonly animal: Animal }
  | { readonly kind: 'key_reused' }

/**
 * Changes of keys use `writeThrough`: they are rare, and losing one is worse than losing an animal. A revoked key must
 * stay revoked.
 */
export function createWrites({ write, writeThrough, prepareFile }: WriteTransactions) {
  return {
    /** Opens the file if necessary, and returns its identity, so that the reader can open it too. */
    prepareFile,

    /**
     * Stores animals without idempotency keys, and returns their ids. Takes the `animalValues` of all of them in one
     * array: passing that to the writer thread takes a fifth of the time that an array of objects takes.
     */
    createAnimals(values: readonly AnimalValue[]): Promise<bigint[]> {
      return write(statements => insertAnimals(statements, values))
    },

    /** The same if some have an idempotency key. Of an animal that was stored, returns only the id. */
    createAnimalsWithKeys(creations: readonly Creation[], now: number): Promise<(bigint | Repeated)[]> {
      return write(statements => creations.map(creation => createAnimal(statements, creation, now)))
    },

    deleteExpiredIdempotencyKeys(limit: number, now: number): Promise<number> {
      return write(statements =>
        Number(statements.deleteExpiredIdempotencyKeys.run(now - IDEMPOTENCY_WINDOW_MS, limit).changes),
      )
    },

    createKey(key: ApiKey): Promise<void> {
      return writeThrough(({ insertKey }) => void insertKey.run(...keyValues(key)))
    },

    createFirstKey(key: ApiKey): Promise<boolean> {
      return writeThrough(statements => {
        if (statements.hasKeys.get(key.environment) !== undefined) return false
        statements.insertKey.run(...keyValues(key))
        return true
      })
    },

    revokeKey(id: string, environment: Environment, at: Date): Promise<ApiKey | undefined> {
      return writeThrough(({ revokeKey, findKey }) => {
        revokeKey.run(at.getTime(), id, environment)
        const row = findKey.get(id, environment)
        return row && toKey(row)
      })
    },

    rotateKey(id: string, successor: ApiKey, expiresAt: Date): Promise<boolean> {
      return writeThrough(statements => {
        const row = statements.findKey.get(id, successor.environment)
        if (row === undefined || !isActive(toKey(row), successor.createdAt.getTime())) return false
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
    const row = statements.findByIdempotencyKey.get(scope, key, now - IDEMPOTENCY_WINDOW_MS)
    if (row !== undefined) {
      const first = toAnimal(row)
      return isSameAnimal(first, animal) ? { kind: 'replayed', animal: first } : { kind: 'key_reused' }
    }
  }
  const [id] = insertAnimals(statements, animalValues(animal)) as [bigint]
  if (idempotency !== undefined)
    statements.storeIdempotencyKey.run(idempotency.scope, idempotency.key, id, now)
  return id
}

/** SQLite gives the animals of one statement consecutive ids, in order; test/store.contract.ts checks that. */
function insertAnimals(statements: Statements, values: readonly AnimalValue[]): bigint[] {
  const ids: bigint[] = []
  const step = INSERTED_TOGETHER * ANIMAL_VALUES
  for (let from = 0; from < values.length; from += step) {
    const together = values.slice(from, from + step)
    const count = together.length / ANIMAL_VALUES
    const last = BigInt(statements.insertAnimals(count).run(...together).lastInsertRowid)
    for (let index = 1; index <= count; index++) ids.push(last - BigInt(count - index))
  }
  return ids
}
