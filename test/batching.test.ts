import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { batchCreations } from '../src/database/batching.ts'
import { openSqliteStore } from '../src/database/sqlite/store.ts'
import { ServiceError } from '../src/error.ts'
import type { Store } from '../src/store.ts'
import { onEveryDatabase } from './support/databases.ts'
import { startTestService, temporaryFolder } from './support/service.ts'

function memoryStore(t: TestContext): Store {
  const store = openSqliteStore({ path: ':memory:', clock: Date.now, create: true })
  t.after(() => store.close())
  return store
}

function creation(name: string) {
  return { animal: { name, categoryId: 1n } }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'unavailable'
}

async function names(store: Store): Promise<string[]> {
  return (await store.listAnimals({ limit: 10_000 })).map(({ name }) => name)
}

suite('grouped creation', () => {
  test('what arrives together is stored together, in order, and each gets its own animal', async t => {
    const store = memoryStore(t)
    const batches = t.mock.method(store, 'createAnimals')
    const grouped = batchCreations(store)
    const sent = Array.from({ length: 100 }, (_, index) => `a${index}`)
    const outcomes = await Promise.all(sent.map(name => grouped.createAnimals([creation(name)])))
    assert.equal(batches.mock.callCount(), 1)
    assert.deepEqual(
      outcomes.map(([outcome]) => outcome?.kind === 'created' && outcome.animal.name),
      sent,
    )
    assert.deepEqual(await names(store), sent)
  })

  test('what arrives one turn of the event loop later is stored with it', async t => {
    const store = memoryStore(t)
    const batches = t.mock.method(store, 'createAnimals')
    const grouped = batchCreations(store)
    const first = grouped.createAnimals([creation('first')])
    await nextTurn()
    await Promise.all([first, grouped.createAnimals([creation('second')])])
    assert.equal(batches.mock.callCount(), 1)
    assert.deepEqual(await names(store), ['first', 'second'])
  })

  test('while one batch commits the next one gathers, up to its size', async t => {
    const store = memoryStore(t)
    const sizes: number[] = []
    const slow: Store = {
      ...store,
      async createAnimals(creations) {
        sizes.push(creations.length)
        await nextTurn()
        return store.createAnimals(creations)
      },
    }
    const grouped = batchCreations(slow, { size: 30, queueLength: 1_000, queueTimeoutMs: 10_000 })
    const first = grouped.createAnimals([creation('first')])
    while (sizes.length === 0) await nextTurn()
    const rest = Array.from({ length: 70 }, (_, index) => grouped.createAnimals([creation(`a${index}`)]))
    await Promise.all([first, ...rest])
    assert.deepEqual(sizes, [1, 30, 30, 10])
    assert.equal((await names(store)).length, 71)
  })

  test('a bad one does not fail its neighbours', async t => {
    const store = memoryStore(t)
    const grouped = batchCreations(store)
    const bad = { animal: { name: 'bad', categoryId: 1n, status: 'lost' as 'sold' } }
    const results = await Promise.allSettled([
      grouped.createAnimals([creation('a')]),
      grouped.createAnimals([bad]),
      grouped.createAnimals([creation('b')]),
    ])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(await names(store), ['a', 'b'])
  })

  test('when the database is away all of the batch are unavailable, and later ones are tried again', async t => {
    const store = memoryStore(t)
    let isAway = true
    const calls: number[] = []
    const flaky: Store = {
      ...store,
      createAnimals(creations) {
        calls.push(creations.length)
        return isAway
          ? Promise.reject(new ServiceError('unavailable', 'away'))
          : store.createAnimals(creations)
      },
    }
    const grouped = batchCreations(flaky)
    const results = await Promise.allSettled([1, 2, 3].map(() => grouped.createAnimals([creation('a')])))
    assert.ok(results.every(result => result.status === 'rejected' && isUnavailable(result.reason)))
    assert.deepEqual(calls, [3])
    isAway = false
    assert.equal((await grouped.createAnimals([creation('b')])).length, 1)
  })

  test('more than may wait are refused at once, and one that waited too long is let go', async t => {
    const store = memoryStore(t)
    const gate = Promise.withResolvers<void>()
    let isStuck = false
    const stuck: Store = {
      ...store,
      async createAnimals(creations) {
        isStuck = true
        await gate.promise
        return store.createAnimals(creations)
      },
    }
    const grouped = batchCreations(stuck, { size: 1, queueLength: 5, queueTimeoutMs: 50 })
    const first = grouped.createAnimals([creation('first')])
    while (!isStuck) await nextTurn()
    const waiting = Array.from({ length: 5 }, () => grouped.createAnimals([creation('waiting')]))
    await assert.rejects(grouped.createAnimals([creation('too many')]), isUnavailable)
    for (const result of await Promise.allSettled(waiting)) {
      assert.ok(result.status === 'rejected' && isUnavailable(result.reason))
    }
    gate.resolve()
    await first
    await grouped.createAnimals([creation('later')])
    assert.deepEqual(await names(store), ['first', 'later'])
  })
})

test('on SQLite a creation waits for a lock as long behind a batch that waits as it would alone', async t => {
  const path = join(temporaryFolder(t), 'animals.db')
  const service = await startTestService(t, { database: { kind: 'sqlite', path } })
  const other = new DatabaseSync(path)
  t.after(() => other.close())
  other.exec('begin immediate')
  const first = service.create({ name: 'a', categoryId: 1 })
  const since = performance.now()
  const second = service.create({ name: 'b', categoryId: 1 })
  while (performance.now() - since < 1_400) await service.send('GET', '/livez')
  other.exec('rollback')
  assert.deepEqual([(await first).status, (await second).status], [201, 201])
})

onEveryDatabase('creations that arrive together', start => {
  test('are all answered, each with its own animal', async t => {
    const service = await start(t)
    const replies = await Promise.all(
      Array.from({ length: 200 }, (_, index) => service.create({ name: `a${index}`, categoryId: index })),
    )
    for (const [index, { status, json }] of replies.entries()) {
      assert.equal(status, 201)
      assert.equal((json as { name: string }).name, `a${index}`)
    }
    assert.equal(new Set(replies.map(({ json }) => (json as { id: bigint }).id)).size, 200)
  })
})
