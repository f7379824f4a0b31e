// Runs a batch of writes: creations in one statement, and changes and removals in another one. An animal or an idempotency key that
// occurs more than once needs further statements.

import { type Animal, applyChanges, isSameAnimal, type NewAnimal, searchName } from '../../animal.ts'
import { renderAnimal } from '../../animal-json.ts'
import type { Clock } from '../../clock.ts'
import { IDEMPOTENCY_WINDOW_MS, type Idempotency, type StoredAnswer } from '../../idempotency.ts'
import type { Store, Warn } from '../../store.ts'
import { type Conditions, failedCondition, type Outcome, replay, type Write } from '../../write.ts'
import { usesOfWrite } from '../batching.ts'
import { toAnimal } from '../rows.ts'
import { isUnsupportedStatement } from './errors.ts'
import type { Pool } from './pool.ts'
import * as sql from './statements.ts'

type Creation = Write & { kind: 'create' }
type UpdateOrRemoval = Exclude<Write, Creation>

/** The outcome of each write that a statement has done. One that is missing may have an idempotency key that is in use. */
type Outcomes = Map<Write, Outcome>

export function createWrites(pool: Pool, clock: Clock, warn: Warn): Store['write'] {
  let isTogether = true

  /** Runs changes and removals in one statement, or one by one once the engine has refused that. */
  async function change(changes: readonly UpdateOrRemoval[], now: number): Promise<Outcomes> {
    if (isTogether) {
      try {
        return await changeTogether(pool, changes, now)
      } catch (error) {
        if (!isUnsupportedStatement(error)) throw error
        warn('The database refuses statements for several changes. Sending a transaction for each.')
        isTogether = false
      }
    }
    return changeOneByOne(pool, changes, now)
  }

  return async given => {
    const now = clock()
    // Outcomes belong to objects, and the same one may be given twice.
    const writes = given.map(write => ({ ...write }))
    const steps = splitConflicting(writes).flatMap(round => {
      const creations = round.filter(write => write.kind === 'create')
      const changes = round.filter(write => write.kind !== 'create')
      return [
        // First, so that no change or removal finds an animal that was asked for after it.
        ...(changes.length > 0 ? [() => change(changes, now)] : []),
        ...(creations.length > 0 ? [() => createAnimals(pool, creations, now)] : []),
      ]
    })
    const outcomes: Outcomes = new Map()
    let cause: unknown
    for (const step of steps) {
      try {
        for (const [write, outcome] of await step()) outcomes.set(write, outcome)
      } catch (error) {
        // What earlier steps have stored must not fail with the rest.
        if (outcomes.size === 0) throw error
        cause = error
        break
      }
    }
    return writes.map(write => outcomes.get(write) ?? { kind: 'unavailable', cause })
  }
}

/** Divides writes into groups with each animal and each idempotency key at most once. The order for each of them stays. */
function splitConflicting(writes: readonly Write[]): Write[][] {
  const rounds: Write[][] = []
  const last = new Map<string, number>()
  for (const write of writes) {
    const uses = usesOfWrite(write)
    const round = Math.max(0, ...uses.map(use => (last.get(use) ?? -1) + 1))
    for (const use of uses) last.set(use, round)
    rounds[round] ??= []
    rounds[round].push(write)
  }
  return rounds
}

async function createAnimals(pool: Pool, creations: readonly Creation[], now: number): Promise<Outcomes> {
  if (creations.every(({ idempotency }) => idempotency === undefined))
    return createWithoutIdempotency(pool, creations)
  const rows = (await pool.rows(sql.CREATE_ANIMALS_WITH_IDEMPOTENCY_KEYS, [
    ...animalColumns(creations),
    ...idempotencyColumns(creations),
    now,
    now - IDEMPOTENCY_WINDOW_MS,
  ])) as [bigint, bigint][]
  const outcomes: Outcomes = new Map()
  for (const [position, id] of rows) {
    const creation = creations[Number(position) - 1] as Creation
    outcomes.set(creation, { kind: 'created', animal: { id, ...creation.animal } })
  }
  // Its key was in use a moment ago, and has expired since.
  return replayOthers(pool, creations, outcomes, now, () => ({ kind: 'unavailable', cause: undefined }))
}

/** A plain insert costs the server a third less than one whose ids are allocated in advance (bench/notes.md). */
async function createWithoutIdempotency(pool: Pool, creations: readonly Creation[]): Promise<Outcomes> {
  const rows = (await pool.rows(sql.CREATE_ANIMALS, animalColumns(creations))) as [bigint][]
  if (rows.length !== creations.length) throw new Error('not every animal was given an id')
  const ids = rows.map(([id]) => id).toSorted((one, other) => (one < other ? -1 : 1))
  return new Map(
    creations.map((creation, index) => [
      creation,
      { kind: 'created', animal: { id: ids[index] as bigint, ...creation.animal } },
    ]),
  )
}

/** Fewer than the connections that a process may open, so that reads get one, too. */
const CHANGES_AT_ONCE = 4

/** One transaction for each change. No two of them have the same animal or idempotency key. */
async function changeOneByOne(
  pool: Pool,
  changes: readonly UpdateOrRemoval[],
  now: number,
): Promise<Outcomes> {
  const outcomes: Outcomes = new Map()
  let cause: unknown
  for (let from = 0; from < changes.length && cause === undefined; from += CHANGES_AT_ONCE) {
    const some = changes.slice(from, from + CHANGES_AT_ONCE)
    const settled = await Promise.allSettled(some.map(change => changeAlone(pool, change, now)))
    for (const [index, result] of settled.entries()) {
      if (result.status === 'rejected') cause ??= result.reason
      else if (result.value !== undefined) outcomes.set(some[index] as UpdateOrRemoval, result.value)
    }
  }
  // What is committed already must not fail with the rest.
  if (cause !== undefined && outcomes.size === 0) throw cause
  return replayOthers(pool, changes, outcomes, now, () => ({ kind: 'unavailable', cause }))
}

/** Returns undefined if the idempotency key is in use. Then nothing happens to the animal. */
function changeAlone(pool: Pool, change: UpdateOrRemoval, now: number): Promise<Outcome | undefined> {
  const { id, conditions, idempotency } = change
  return pool.transact(async client => {
    const query = (text: string, values: readonly unknown[]) =>
      client.query({ text, values: values as unknown[], rowMode: 'array' as const })
    const [row] = (await query(sql.LOCK_ANIMAL, [id])).rows
    // Only now: a retry that came first may have had the lock.
    if (idempotency !== undefined) {
      const { scope, key } = idempotency
      const known = await query(sql.FIND_STORED_ANSWERS, [[scope], [key], now - IDEMPOTENCY_WINDOW_MS])
      if (known.rows.length > 0) return undefined
    }
    if (row === undefined) return { kind: 'missing' }
    const animal = toAnimal(row)
    const failed = failedCondition(animal, conditions)
    if (failed !== undefined) return failed
    const changed = change.kind === 'update' ? applyChanges(animal, change.changes) : undefined
    // Before the animal is changed: Citus then commits both in two phases (docs/postgresql.md#citus).
    if (idempotency !== undefined) {
      const { scope, key, request } = idempotency
      const answer = changed === undefined ? '' : renderAnimal(changed)
      const values = [scope, key, id, request, answer, now, now - IDEMPOTENCY_WINDOW_MS]
      if ((await query(sql.STORE_IDEMPOTENCY_KEY, values)).rowCount === 0) return undefined
    }
    if (changed === undefined) {
      await query(sql.DELETE_ANIMAL, [id])
      return { kind: 'deleted', id }
    }
    if (isSameAnimal(animal, changed)) return { kind: 'unchanged', animal }
    const { name, categoryId, status = null } = changed
    await query(sql.UPDATE_ANIMAL, [id, name, categoryId, status, searchName(name)])
    return { kind: 'updated', animal: changed }
  })
}

async function changeTogether(
  pool: Pool,
  changes: readonly UpdateOrRemoval[],
  now: number,
): Promise<Outcomes> {
  const rows = await pool.rows(sql.CHANGE_ANIMALS, [
    ...changeColumns(changes),
    ...idempotencyColumns(changes),
    now,
    now - IDEMPOTENCY_WINDOW_MS,
  ])
  const outcomes: Outcomes = new Map()
  const refused: Outcomes = new Map()
  for (const [position, isDone, hasTag, oldStatus, isChanged, ...animal] of rows) {
    const change = changes[Number(position) - 1] as UpdateOrRemoval
    if (isDone) outcomes.set(change, outcomeOf(change, toAnimal(animal), isChanged === true))
    else if (!hasTag) refused.set(change, { kind: 'other_tag' })
    else refused.set(change, { kind: 'other_status', status: (oldStatus ?? undefined) as Animal['status'] })
  }
  return replayOthers(pool, changes, outcomes, now, change => refused.get(change) ?? { kind: 'missing' })
}

function outcomeOf({ kind }: UpdateOrRemoval, animal: Animal, isChanged: boolean): Outcome {
  if (kind === 'delete') return { kind: 'deleted', id: animal.id }
  return { kind: isChanged ? 'updated' : 'unchanged', animal }
}

/**
 * Adds the outcomes of the writes that a statement left out. A retry gets its first answer, whatever happened to the animal since. What
 * the statement did is already stored, so a failure here must not fail the whole batch.
 */
async function replayOthers(
  pool: Pool,
  writes: readonly Write[],
  outcomes: Outcomes,
  now: number,
  otherwise: (write: Write) => Outcome,
): Promise<Outcomes> {
  const others = writes.filter(write => !outcomes.has(write))
  try {
    const stored = await findStoredAnswers(pool, others, now)
    for (const write of others) {
      const first = stored.get(write)
      outcomes.set(write, first === undefined ? otherwise(write) : replay(write, first))
    }
  } catch (cause) {
    for (const write of others) outcomes.set(write, { kind: 'unavailable', cause })
  }
  return outcomes
}

/** Returns what is stored for the idempotency key of each write, if it has one and the key is in use. */
async function findStoredAnswers(
  pool: Pool,
  writes: readonly Write[],
  now: number,
): Promise<Map<Write, StoredAnswer>> {
  const withKeys = writes.filter(({ idempotency }) => idempotency !== undefined)
  if (withKeys.length === 0) return new Map()
  const [scopes, keys] = idempotencyColumns(withKeys)
  const rows = await pool.rows(sql.FIND_STORED_ANSWERS, [scopes, keys, now - IDEMPOTENCY_WINDOW_MS])
  const animals = await findAnimals(
    pool,
    rows.filter(([, , , , , isAnswered]) => !isAnswered).map(([, , , id]) => id),
  )
  const byKey = new Map(
    rows.map(([scope, key, request, id, answer, isAnswered]) => [
      JSON.stringify([scope, key]),
      { request, id, answer: isAnswered ? answer : (animals.get(id as bigint) ?? null) } as StoredAnswer,
    ]),
  )
  return new Map(
    withKeys.flatMap(write => {
      const first = byKey.get(keyOf(write.idempotency as Idempotency))
      return first === undefined ? [] : [[write, first] as const]
    }),
  )
}

/** For rows of version 1.1, which has stored only the animal. Citus refuses a statement that joins the keys and the animals. */
async function findAnimals(pool: Pool, ids: readonly unknown[]): Promise<ReadonlyMap<bigint, string>> {
  if (ids.length === 0) return new Map()
  return new Map((await pool.rows(sql.FIND_ANIMALS, [ids])) as [bigint, string][])
}

function animalColumns(creations: readonly Creation[]): unknown[] {
  const animals: readonly NewAnimal[] = creations.map(({ animal }) => animal)
  return [
    animals.map(({ name }) => name),
    animals.map(({ categoryId }) => categoryId),
    animals.map(({ status }) => status ?? null),
    orNull(animals.map(({ name }) => searchName(name))),
  ]
}

function changeColumns(writes: readonly UpdateOrRemoval[]): unknown[] {
  const changes = writes.map(write => (write.kind === 'update' ? write.changes : {}))
  const conditions: readonly Conditions[] = writes.map(write => write.conditions)
  return [
    writes.map(({ id }) => id),
    writes.map(({ kind }) => kind === 'delete'),
    orNull(changes.map(({ name }) => name ?? null)),
    orNull(changes.map(({ categoryId }) => categoryId ?? null)),
    orNull(changes.map(({ status }) => (status === null ? 'none' : (status ?? null)))),
    orNull(changes.map(({ name }) => (name === undefined ? null : searchName(name)))),
    orNull(conditions.map(({ ifMatch }) => ifMatch?.join(' ') ?? null)),
    orNull(
      conditions.map(({ ifNoneMatch }) => (ifNoneMatch === '*' ? '*' : (ifNoneMatch?.join(' ') ?? null))),
    ),
    orNull(conditions.map(({ ifStatus }) => ifStatus ?? null)),
  ]
}

function idempotencyColumns(writes: readonly Write[]): unknown[] {
  return [
    writes.map(({ idempotency }) => idempotency?.scope ?? null),
    writes.map(({ idempotency }) => idempotency?.key ?? null),
    writes.map(({ idempotency }) => idempotency?.request ?? null),
  ]
}

/** PostgreSQL takes a missing list for a list of nulls. */
function orNull<Value>(values: readonly (Value | null)[]): readonly (Value | null)[] | null {
  return values.some(value => value !== null) ? values : null
}

function keyOf({ scope, key }: Idempotency): string {
  return JSON.stringify([scope, key])
}
