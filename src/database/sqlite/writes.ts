// Every change to the database, as a function that runs within a transaction.

import { type Animal, isSameAnimal, type NewAnimal } from '../../animal.ts'
import type { ApiKey, Environment } from '../../api-key.ts'
import { type Creation, IDEMPOTENCY_WINDOW_MS } from '../../store.ts'
import { keyValues, toAnimal, toKey } from '../rows.ts'
import type { Connection } from './connection.ts'
import { ANIMALS_PER_INSERT, type Statements } from './statements.ts'

type Column = string | bigint | null

const COLUMNS_PER_ANIMAL = 3

/** Returns name, category_id and status of a new animal, in this order. */
export function animalColumns({ name, categoryId, status }: NewAnimal): Column[] {
  return [name, categoryId, status ?? null]
}

/** The outcome of a creation that stored nothing, because its idempotency key was used before. */
export type Repeated =
  | { readonly kind: 'replayed'; readonly animal: Animal }
  | { readonly kind: 'key_reused' }

/** Arguments and results can be sent between threads. */
const WRITES = {
  /**
   * Stores animals without idempotency keys, and returns their ids. Takes the columns of all of them in one array: passing that
   * to the writer thread takes a fifth of the time that an array of objects takes. SQLite gives the animals of one statement
   * consecutive ids, in order; test/store.contract.ts checks that.
   */
  createAnimals(statements: Statements, columns: readonly Column[]): bigint[] {
    const ids: bigint[] = []
    const step = ANIMALS_PER_INSERT * COLUMNS_PER_ANIMAL
    for (let from = 0; from < columns.length; from += step) {
      const inserted = columns.slice(from, from + step)
      const count = inserted.length / COLUMNS_PER_ANIMAL
      const last = BigInt(statements.insertAnimals(count).run(...inserted).lastInsertRowid)
      for (let index = 1; index <= count; index++) ids.push(last - BigInt(count - index))
    }
    return ids
  },

  /** The same if some have an idempotency key. Of an animal that was stored, returns only the id. */
  createAnimalsWithKeys(
    statements: Statements,
    creations: readonly Creation[],
    now: number,
  ): (bigint | Repeated)[] {
    return creations.map(({ animal, idempotency }) => {
      if (idempotency !== undefined) {
        const { scope, key } = idempotency
        const row = statements.findByIdempotencyKey.get(scope, key, now - IDEMPOTENCY_WINDOW_MS)
        if (row !== undefined) {
          const first = toAnimal(row)
          return isSameAnimal(first, animal) ? { kind: 'replayed', animal: first } : { kind: 'key_reused' }
        }
      }
      const [id] = WRITES.createAnimals(statements, animalColumns(animal)) as [bigint]
      if (idempotency !== undefined)
        statements.storeIdempotencyKey.run(idempotency.scope, idempotency.key, id, now)
      return id
    })
  },

  deleteExpiredIdempotencyKeys(statements: Statements, limit: number, now: number): number {
    return Number(statements.deleteExpiredIdempotencyKeys.run(now - IDEMPOTENCY_WINDOW_MS, limit).changes)
  },

  createKey({ insertKey }: Statements, key: ApiKey): void {
    insertKey.run(...keyValues(key))
  },

  createFirstKey({ hasKeys, insertKey }: Statements, key: ApiKey): boolean {
    if (hasKeys.get(key.environment) !== undefined) return false
    insertKey.run(...keyValues(key))
    return true
  },

  revokeKey(
    { revokeKey, findKey }: Statements,
    id: string,
    environment: Environment,
    at: Date,
  ): ApiKey | undefined {
    revokeKey.run(at.getTime(), id, environment)
    const row = findKey.get(id, environment)
    return row && toKey(row)
  },

  expireKey({ expireKey }: Statements, id: string, environment: Environment, at: Date): void {
    expireKey.run(at.getTime(), id, environment)
  },
}

export type WriteName = keyof typeof WRITES

type WriteArguments<Name extends WriteName> =
  Parameters<(typeof WRITES)[Name]> extends [Statements, ...infer Rest] ? Rest : never

/** Runs a write by its name. Resolves once the change is on disk. */
export type Write = <Name extends WriteName>(
  name: Name,
  ...args: WriteArguments<Name>
) => Promise<ReturnType<(typeof WRITES)[Name]>>

/** Runs a write in a transaction of its own. `beforeCommit` may throw, and nothing is stored then. */
export function runWrite(
  { database, statements }: Connection,
  name: WriteName,
  args: readonly unknown[],
  beforeCommit: () => void = () => {},
): unknown {
  const write = WRITES[name] as (statements: Statements, ...args: readonly unknown[]) => unknown
  database.exec('begin immediate')
  try {
    const result = write(statements, ...args)
    beforeCommit()
    database.exec('commit')
    return result
  } catch (error) {
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}
