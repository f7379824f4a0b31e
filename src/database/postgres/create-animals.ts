// Stores a batch of animals in one statement, with or without idempotency keys.

import { type Animal, isSameAnimal, searchName } from '../../animal.ts'
import { type Creation, IDEMPOTENCY_WINDOW_MS, type Outcome } from '../../store.ts'
import { toAnimal } from '../rows.ts'
import type { Pool } from './pool.ts'
import * as sql from './statements.ts'

export async function createAnimals(
  pool: Pool,
  creations: readonly Creation[],
  now: number,
): Promise<Outcome[]> {
  if (creations.length === 0) return []
  const hasKeys = creations.some(({ idempotency }) => idempotency !== undefined)
  return hasKeys ? createWithKeys(pool, creations, now) : createWithoutKeys(pool, creations)
}

/** A plain insert costs the server a third less than one whose ids are allocated in advance (bench/notes.md). */
async function createWithoutKeys(pool: Pool, creations: readonly Creation[]): Promise<Outcome[]> {
  const rows = (await pool.rows(sql.CREATE_ANIMALS, animalColumns(creations))) as [bigint][]
  if (rows.length !== creations.length) throw new Error('not every animal was given an id')
  const ids = rows.map(([id]) => id).toSorted((one, other) => (one < other ? -1 : 1))
  return creations.map(({ animal }, index) => ({
    kind: 'created',
    animal: { id: ids[index] as bigint, ...animal },
  }))
}

/**
 * A creation whose idempotency key is taken gets no id, and a second statement looks up the animal of that key. If a key
 * is in the batch more than once, only its first creation is sent, because a statement cannot change a row twice.
 */
async function createWithKeys(pool: Pool, creations: readonly Creation[], now: number): Promise<Outcome[]> {
  const firsts = new Map<string, Creation>()
  for (const creation of creations) {
    const key = keyOf(creation)
    if (key !== undefined && !firsts.has(key)) firsts.set(key, creation)
  }
  const sent = creations.filter(creation => {
    const key = keyOf(creation)
    return key === undefined || firsts.get(key) === creation
  })
  const created = await insertFree(pool, sent, now)
  const taken = sent.filter(creation => !created.has(creation))
  // The other animals are stored now, so a failure from here on must not fail the whole batch.
  let cause: unknown
  const earlier = await findByKeys(pool, taken).catch(error => {
    cause = error
    return new Map<string, Animal>()
  })

  return creations.map((creation): Outcome => {
    const animal = created.get(creation)
    if (animal !== undefined) return { kind: 'created', animal }
    const key = keyOf(creation) ?? ''
    const first = created.get(firsts.get(key) ?? creation) ?? earlier.get(key)
    if (first === undefined) return { kind: 'unavailable', cause }
    return isSameAnimal(first, creation.animal) ? { kind: 'replayed', animal: first } : { kind: 'key_reused' }
  })
}

/** Stores the animals without an idempotency key, and those whose key is free. */
async function insertFree(
  pool: Pool,
  sent: readonly Creation[],
  now: number,
): Promise<Map<Creation, Animal>> {
  const rows = (await pool.rows(sql.CREATE_ANIMALS_WITH_KEYS, [
    ...animalColumns(sent),
    sent.map(({ idempotency }) => idempotency?.scope ?? null),
    sent.map(({ idempotency }) => idempotency?.key ?? null),
    now,
    now - IDEMPOTENCY_WINDOW_MS,
  ])) as [bigint, bigint][]
  const ids = new Map(rows.map(([position, id]) => [Number(position), id]))
  return new Map(
    sent.flatMap((creation, index) => {
      const id = ids.get(index + 1)
      return id === undefined ? [] : [[creation, { id, ...creation.animal }]]
    }),
  )
}

async function findByKeys(pool: Pool, creations: readonly Creation[]): Promise<Map<string, Animal>> {
  if (creations.length === 0) return new Map()
  const scopes = creations.map(({ idempotency }) => idempotency?.scope)
  const keys = creations.map(({ idempotency }) => idempotency?.key)
  const rows = await pool.rows(sql.FIND_BY_IDEMPOTENCY_KEY, [scopes, keys])
  return new Map(rows.map(([scope, key, ...animal]) => [JSON.stringify([scope, key]), toAnimal(animal)]))
}

function animalColumns(creations: readonly Creation[]): unknown[] {
  const searchNames = creations.map(({ animal }) => searchName(animal.name))
  return [
    creations.map(({ animal }) => animal.name),
    creations.map(({ animal }) => animal.categoryId),
    creations.map(({ animal }) => animal.status ?? null),
    // Most animals have none. PostgreSQL takes a missing list for a list of nulls.
    searchNames.some(name => name !== null) ? searchNames : null,
  ]
}

function keyOf({ idempotency }: Creation): string | undefined {
  return idempotency && JSON.stringify([idempotency.scope, idempotency.key])
}
