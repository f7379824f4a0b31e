// Random creations, changes, removals, lists, searches and counts, compared with a model, on every database. On PostgreSQL, two
// stores take turns, as two instances do.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import {
  type Animal,
  type AnimalChanges,
  applyChanges,
  foldName,
  type NewAnimal,
  STATUSES,
} from '../src/animal.ts'
import { renderAnimal, renderAnimals } from '../src/animal-json.ts'
import { tagOf } from '../src/etag.ts'
import type { Store } from '../src/store.ts'
import { type Conditions, failedCondition, type Outcome, type Write } from '../src/write.ts'
import { borrowDatabase, openPostgres } from './support/postgres.ts'
import { temporaryFolder } from './support/service.ts'
import { openTestStore } from './support/sqlite.ts'

const RUNS = 15
const STEPS = 40

const name = fc.constantFrom('Bella', 'Zoë', 'ZOE', 'Ça', 'b%_', '"\\', '\u0001\u2028', '🐈 ß')
const status = fc.option(fc.constantFrom(...STATUSES), { nil: undefined })
const newAnimal: fc.Arbitrary<NewAnimal> = fc
  .record({ name, categoryId: fc.bigInt(-2n, 2n), status })
  .map(({ status, ...animal }) => (status === undefined ? animal : { ...animal, status }))
const changes: fc.Arbitrary<AnimalChanges> = fc.record(
  { name, categoryId: fc.bigInt(-2n, 2n), status: fc.constantFrom(...STATUSES, null) },
  { requiredKeys: [] },
)

/** How the conditions of a write are chosen: those that hold, those that do not, and none. */
const conditions = fc.constantFrom(
  'none',
  'own tag',
  'other tag',
  'own status',
  'other status',
  'not own tag',
)

interface Step {
  readonly kind: 'create' | 'update' | 'delete'
  readonly animal: NewAnimal
  readonly changes: AnimalChanges
  /** Which of the animals that there have been. */
  readonly position: number
  readonly conditions: string
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('create', 'create', 'update', 'update', 'update', 'delete'),
  animal: newAnimal,
  changes,
  position: fc.nat(20),
  conditions,
})

/** Batches of writes, each sent to one of the stores. */
const batches = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), {
  minLength: 1,
  maxLength: STEPS / 4,
})

function toConditions(what: string, animal: Animal | undefined): Conditions {
  if (animal === undefined) return {}
  const tag = tagOf(renderAnimal(animal))
  const other = '0'.repeat(32)
  switch (what) {
    case 'own tag':
      return { ifMatch: [other, tag] }
    case 'other tag':
      return { ifMatch: [other] }
    case 'not own tag':
      return { ifNoneMatch: [tag] }
    case 'own status':
      return { ifStatus: animal.status ?? 'none' }
    case 'other status':
      return { ifStatus: animal.status === 'sold' ? 'none' : 'sold' }
    default:
      return {}
  }
}

/** What the model says that comes of a write. A creation gets its id from the store. */
function expect(animals: Map<bigint, Animal>, write: Write, actual: Outcome): Outcome {
  if (write.kind === 'create') {
    assert.ok(actual.kind === 'created')
    const animal = { id: actual.animal.id, ...write.animal }
    animals.set(animal.id, animal)
    return { kind: 'created', animal }
  }
  const animal = animals.get(write.id)
  if (animal === undefined) return { kind: 'missing' }
  const failed = failedCondition(animal, write.conditions)
  if (failed !== undefined) return failed
  if (write.kind === 'delete') {
    animals.delete(write.id)
    return { kind: 'deleted', id: write.id }
  }
  const changed = applyChanges(animal, write.changes)
  animals.set(write.id, changed)
  const isSame = renderAnimal(changed) === renderAnimal(animal)
  return { kind: isSame ? 'unchanged' : 'updated', animal: changed }
}

async function compare(store: Store, animals: ReadonlyMap<bigint, Animal>): Promise<void> {
  const all = [...animals.values()].sort((one, other) => (one.id < other.id ? -1 : 1))
  assert.deepEqual(await store.listAnimals({ limit: 1_000 }), all)
  const count = (wanted: string | undefined) => BigInt(all.filter(({ status }) => status === wanted).length)
  const [available, pending, sold] = STATUSES.map(count)
  assert.deepEqual(await store.countAnimals(), { available, pending, sold, none: count(undefined) })
  for (const nameContains of ['zoe', 'ca', '%', '\u0001', 'ß'])
    assert.equal(
      (await store.listAnimalsAsJson({ limit: 100, nameContains })).json,
      renderAnimals(all.filter(animal => foldName(animal.name).includes(nameContains)).slice(0, 100)),
    )
  for (const status of STATUSES)
    assert.equal(
      (await store.listAnimalsAsJson({ limit: 100, status })).json,
      renderAnimals(all.filter(animal => animal.status === status).slice(0, 100)),
    )
}

async function checkStores(stores: readonly Store[]): Promise<void> {
  const animals = new Map(
    (await (stores[0] as Store).listAnimals({ limit: 1_000 })).map(each => [each.id, each]),
  )
  const ids: bigint[] = [...animals.keys()]
  await fc.assert(
    fc.asyncProperty(batches, async steps => {
      for (const [index, batch] of steps.entries()) {
        const store = stores[index % stores.length] as Store
        const writes = batch.map((each): Write => {
          if (each.kind === 'create') return { kind: 'create', animal: each.animal }
          const id = ids.at(-1 - each.position) ?? 0n
          const conditions = toConditions(each.conditions, animals.get(id))
          return each.kind === 'delete'
            ? { kind: 'delete', id, conditions }
            : { kind: 'update', id, changes: each.changes, conditions }
        })
        const outcomes = await store.write(writes)
        const expected = writes.map((write, index) => expect(animals, write, outcomes[index] as Outcome))
        assert.deepEqual(outcomes, expected)
        for (const outcome of outcomes) if (outcome.kind === 'created') ids.push(outcome.animal.id)
      }
      await compare(stores.at(-1) as Store, animals)
    }),
    { numRuns: RUNS },
  )
  assert.deepEqual(await (stores[0] as Store).repairDerivedData(), { searchNames: 0, corrected: undefined })
}

suite('random writes have the outcomes of a model, and lists, searches and counts show them', () => {
  test('on SQLite', async (t: TestContext) => {
    await checkStores([openTestStore(t, join(temporaryFolder(), 'a.db'))])
  })

  test('on PostgreSQL, through two instances', async (t: TestContext) => {
    const url = await borrowDatabase(t)
    const stores = await Promise.all([1, 2].map(() => openPostgres({ url })))
    t.after(() => Promise.all(stores.map(store => store.close())))
    await checkStores(stores)
  })
})
