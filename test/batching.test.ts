// Batching: creations that arrive together are stored together, within limits of size, queue length and time.

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
import { waitUntil } from './support/wait.ts'

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

suite('batched creations', () => {
  test('creations that arrive together are stored in one batch, in order, and each gets its own animal', async t => {
    const store = memoryStore(t)
    const batches = t.mock.method(store, 'createAnimals')
    const batched = batchCreations(store)
    const sent = Array.from({ length: 100 }, (_, index) => `a${index}`)
    const outcomes = await Promise.all(sent.map(name => batched.createAnimals([creation(name)])))
    assert.equal(batches.mock.callCount(), 1)
    assert.deepEqual(
      outcomes.map(([outcome]) => outcome?.kind === 'created' && outcome.animal.name),
      sent,
    )
    assert.deepEqual(await names(store), sent)
  })

  test('a creation that arrives one event-loop turn later joins the batch', async t => {
    const store = memoryStore(t)
    const batches = t.mock.method(store, 'createAnimals')
    const batched = batchCreations(store)
    const first = batched.createAnimals([creation('first')])
    await nextTurn()
    await Promise.all([first, batched.createAnimals([creation('second')])])
    assert.equal(batches.mock.callCount(), 1)
    assert.deepEqual(await names(store), ['first', 'second'])
  })

  test('a full batch is sent at once, without waiting for the next event-loop turn', async t => {
    const store = memoryStore(t)
    const batches = t.mock.method(store, 'createAnimals')
    const batched = batchCreations(store, { size: 10, queueLength: 1_000, queueTimeoutMs: 10_000 })
    let isNextTurn = false
    setImmediate(() => {
      isNextTurn = true
    })
    const full = Array.from({ length: 30 }, (_, index) => batched.createAnimals([creation(`a${index}`)]))
    const last = batched.createAnimals([creation('last')])
    await Promise.all(full)
    assert.equal(batches.mock.callCount(), 3)
    assert.equal(isNextTurn, false)
    await last
    assert.equal(batches.mock.callCount(), 4)
    assert.equal(isNextTurn, true)
  })

  test('creations that arrive while a batch commits form the next batches, up to the maximum size', async t => {
    const store = memoryStore(t)
    const sizes: number[] = []
    const started = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const slow: Store = {
      ...store,
      async createAnimals(creations) {
        sizes.push(creations.length)
        started.resolve()
        await gate.promise
        return store.createAnimals(creations)
      },
    }
    const batched = batchCreations(slow, { size: 30, queueLength: 1_000, queueTimeoutMs: 10_000 })
    const first = batched.createAnimals([creation('first')])
    await started.promise
    const rest = Array.from({ length: 70 }, (_, index) => batched.createAnimals([creation(`a${index}`)]))
    gate.resolve()
    await Promise.all([first, ...rest])
    assert.deepEqual(sizes, [1, 30, 30, 10])
    assert.equal((await names(store)).length, 71)
  })

  test('a creation that fails does not fail the others in its batch', async t => {
    const store = memoryStore(t)
    const batched = batchCreations(store)
    const invalid = { animal: { name: 'invalid', categoryId: 1n, status: 'lost' as 'sold' } }
    const results = await Promise.allSettled([
      batched.createAnimals([creation('a')]),
      batched.createAnimals([invalid]),
      batched.createAnimals([creation('b')]),
    ])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(await names(store), ['a', 'b'])
  })

  test('rejects the whole batch if the database is unavailable, and tries the next batch again', async t => {
    const store = memoryStore(t)
    let isDown = true
    const calls: number[] = []
    const flaky: Store = {
      ...store,
      createAnimals(creations) {
        calls.push(creations.length)
        return isDown
          ? Promise.reject(new ServiceError('unavailable', 'down'))
          : store.createAnimals(creations)
      },
    }
    const batched = batchCreations(flaky)
    const results = await Promise.allSettled([1, 2, 3].map(() => batched.createAnimals([creation('a')])))
    assert.ok(results.every(result => result.status === 'rejected' && isUnavailable(result.reason)))
    assert.deepEqual(calls, [3])
    isDown = false
    assert.equal((await batched.createAnimals([creation('b')])).length, 1)
  })

  test('rejects creations that the queue cannot hold, and creations that wait in it too long', async t => {
    const store = memoryStore(t)
    const gate = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    const stuck: Store = {
      ...store,
      async createAnimals(creations) {
        started.resolve()
        await gate.promise
        return store.createAnimals(creations)
      },
    }
    const batched = batchCreations(stuck, { size: 1, queueLength: 5, queueTimeoutMs: 1_000 })
    const first = batched.createAnimals([creation('first')])
    await started.promise
    const waiting = Array.from({ length: 5 }, () => batched.createAnimals([creation('waiting')]))
    await assert.rejects(batched.createAnimals([creation('too many')]), isUnavailable)
    for (const result of await Promise.allSettled(waiting)) {
      assert.ok(result.status === 'rejected' && isUnavailable(result.reason))
    }
    gate.resolve()
    await first
    await batched.createAnimals([creation('later')])
    assert.deepEqual(await names(store), ['first', 'later'])
  })
})

test('on SQLite, a creation waits in the queue as long as the batch before it waits for a lock', async t => {
  const path = join(temporaryFolder(t), 'animals.db')
  const service = await startTestService(t, { database: { kind: 'sqlite', path } })
  const other = new DatabaseSync(path)
  t.after(() => other.close())
  other.exec('begin immediate')
  const creations = t.mock.method(service.store, 'createAnimals')
  const first = service.create({ name: 'first', categoryId: 1 })
  await waitUntil(() => creations.mock.callCount() === 1, { what: 'the first creation arrives' })
  // The first batch leaves the queue after two event-loop turns, so the second creation cannot join it.
  for (let turn = 0; turn < 3; turn++) await nextTurn()
  const second = service.create({ name: 'second', categoryId: 1 })
  // The first creation gives up only when it has waited for the lock as long as it may.
  assert.equal((await first).status, 503)
  other.exec('rollback')
  assert.equal((await second).status, 201)
})

onEveryDatabase('concurrent creations', start => {
  test('each get 201 with their own animal', async t => {
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
