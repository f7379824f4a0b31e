// Batching: creations that arrive together are stored together, within limits of size, queue length and time.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { batchWrites, createBatcher, WRITE_QUEUE_TIMEOUT_MS } from '../src/database/batching.ts'
import { LOCK_TIMEOUT_MS } from '../src/database/sqlite/locks.ts'
import { openSqliteStore } from '../src/database/sqlite/sqlite-store.ts'
import { isUnavailable, unavailable } from '../src/error.ts'
import type { Store } from '../src/store.ts'
import { createAnimals } from './support/animals.ts'
import { temporaryFolder } from './support/service.ts'
import { lockForWriting, openTestStore } from './support/sqlite.ts'
import { waitUntil } from './support/wait.ts'

function memoryStore(t: TestContext): Store {
  const store = openSqliteStore({ path: ':memory:', clock: Date.now, create: true })
  t.after(() => store.close())
  return store
}

function creation(name: string) {
  return { animal: { name, categoryId: 1n } }
}

async function names(store: Store): Promise<string[]> {
  return (await store.listAnimals({ limit: 10_000 })).map(({ name }) => name)
}

suite('batched creations', () => {
  test('creations that arrive together are stored in one batch, in order, and each gets its own animal', async t => {
    const store = memoryStore(t)
    const batches = t.mock.method(store, 'write')
    const batched = batchWrites(store)
    const sent = Array.from({ length: 100 }, (_, index) => `a${index}`)
    const outcomes = await Promise.all(sent.map(name => createAnimals(batched, [creation(name)])))
    assert.equal(batches.mock.callCount(), 1)
    assert.deepEqual(
      outcomes.map(([outcome]) => outcome?.kind === 'created' && outcome.animal.name),
      sent,
    )
    assert.deepEqual(await names(store), sent)
  })

  test('a creation that arrives one event-loop turn later joins the batch', async t => {
    const store = memoryStore(t)
    const batches = t.mock.method(store, 'write')
    const batched = batchWrites(store)
    const first = createAnimals(batched, [creation('first')])
    await nextTurn()
    await Promise.all([first, createAnimals(batched, [creation('second')])])
    assert.equal(batches.mock.callCount(), 1)
    assert.deepEqual(await names(store), ['first', 'second'])
  })

  test('a full batch is sent at once, without waiting for the next event-loop turn', async t => {
    const store = memoryStore(t)
    const batches = t.mock.method(store, 'write')
    const batched = batchWrites(store, { limits: { size: 10, queueLength: 1_000 } })
    let isNextTurn = false
    setImmediate(() => {
      isNextTurn = true
    })
    const full = Array.from({ length: 30 }, (_, index) => createAnimals(batched, [creation(`a${index}`)]))
    const last = createAnimals(batched, [creation('last')])
    await Promise.all(full)
    assert.equal(batches.mock.callCount(), 3)
    assert.equal(isNextTurn, false)
    await last
    assert.equal(batches.mock.callCount(), 4)
    assert.equal(isNextTurn, true)
  })
})

suite('batched calls', () => {
  const LIMITS = { size: 10, queueLength: 1_000, inFlight: 2 }
  const queueTimeoutMs = 30_000
  const overloaded = () => unavailable({ message: 'overloaded' })

  test('a call alone is sent in the event-loop turn in which it arrives', async () => {
    const sent: number[][] = []
    const run = async (calls: readonly number[]) => {
      sent.push([...calls])
      return calls
    }
    const send = createBatcher({ run, limits: LIMITS, queueTimeoutMs, turns: 1, overloaded })
    let isLater = false
    const first = send(1)
    setImmediate(() => {
      isLater = true
    })
    assert.equal(await first, 1)
    assert.equal(isLater, false)
    assert.deepEqual(await Promise.all([2, 3, 4].map(send)), [2, 3, 4])
    assert.deepEqual(sent, [[1], [2, 3, 4]])
  })

  test('a batch that hangs does not delay others, and no more than the limit run at the same time', async () => {
    const stuck = Promise.withResolvers<void>()
    const sizes: number[] = []
    let running = 0
    let mostRunning = 0
    const run = async (calls: readonly string[]) => {
      sizes.push(calls.length)
      mostRunning = Math.max(mostRunning, ++running)
      await (calls.includes('stuck') ? stuck.promise : nextTurn())
      running--
      return calls
    }
    const send = createBatcher({ run, limits: LIMITS, queueTimeoutMs, turns: 1, overloaded })
    const hanging = send('stuck')
    await nextTurn()
    const others = Array.from({ length: 35 }, (_, index) => send(`a${index}`))
    assert.deepEqual(
      await Promise.all(others),
      others.map((_, index) => `a${index}`),
    )
    assert.deepEqual(sizes, [1, 10, 10, 10, 5])
    assert.equal(mostRunning, 2)
    stuck.resolve()
    assert.equal(await hanging, 'stuck')
  })

  test('calls behind batches that all hang are rejected in time, and later ones are served', async () => {
    const stuck = Promise.withResolvers<void>()
    const run = async (calls: readonly number[]) => {
      await stuck.promise
      return calls
    }
    const limits = { ...LIMITS, size: 1, queueLength: 3 }
    const send = createBatcher({ run, limits, queueTimeoutMs: 100, turns: 1, overloaded })
    const hanging = [1, 2].map(send)
    const waiting = [3, 4, 5].map(send)
    await assert.rejects(send(6), isUnavailable)
    for (const result of await Promise.allSettled(waiting)) {
      assert.ok(result.status === 'rejected' && isUnavailable(result.reason))
    }
    stuck.resolve()
    assert.deepEqual(await Promise.all(hanging), [1, 2])
    assert.equal(await send(7), 7)
  })

  test('if one call makes a batch fail, its calls run one by one, until the database is unavailable', async () => {
    const sent: string[][] = []
    const run = async (calls: readonly string[]) => {
      sent.push([...calls])
      if (calls.length > 1 || calls[0] === 'bad') throw new Error('bad')
      if (calls[0] === 'down') throw overloaded()
      return calls
    }
    const send = createBatcher({ run, limits: LIMITS, queueTimeoutMs, turns: 1, overloaded })
    const results = await Promise.allSettled(['a', 'bad', 'b', 'down', 'c', 'd'].map(send))
    assert.deepEqual(
      results.map(result => (result.status === 'fulfilled' ? result.value : result.reason.message)),
      ['a', 'bad', 'b', 'overloaded', 'overloaded', 'overloaded'],
    )
    assert.deepEqual(sent.slice(1), [['a'], ['bad'], ['b'], ['down']])
  })

  test('a batch that fails because the database is unavailable is rejected as a whole', async () => {
    const sizes: number[] = []
    const run = async (calls: readonly number[]) => {
      sizes.push(calls.length)
      throw unavailable()
    }
    const send = createBatcher({ run, limits: LIMITS, queueTimeoutMs, turns: 1, overloaded })
    const results = await Promise.allSettled([1, 2, 3].map(send))
    assert.ok(results.every(result => result.status === 'rejected' && isUnavailable(result.reason)))
    assert.deepEqual(sizes, [3])
  })

  test('a call that is larger than a batch is a batch of its own', async () => {
    const sent: number[][] = []
    const run = async (calls: readonly number[]) => {
      sent.push([...calls])
      return calls
    }
    const send = createBatcher({
      run,
      limits: LIMITS,
      queueTimeoutMs,
      sizeOf: size => size,
      turns: 1,
      overloaded,
    })
    assert.deepEqual(await Promise.all([50, 4, 4, 4].map(send)), [50, 4, 4, 4])
    assert.deepEqual(sent, [[50], [4, 4], [4]])
  })
})

suite('writes of one animal, where each needs a statement of its own', () => {
  test('take turns in batches, in order, and those of other animals do not wait for them', async t => {
    const store = memoryStore(t)
    await createAnimals(store, [creation('hot'), creation('other')])
    const batches = t.mock.method(store, 'write')
    const batched = batchWrites(store, { hasOneWritePerAnimal: true })
    const rename = (id: bigint, name: string) =>
      batched.write([{ kind: 'update', id, changes: { name }, conditions: {} }])
    const hot = ['first', 'second', 'third'].map(name => rename(1n, name))
    await Promise.all([rename(2n, 'renamed'), createAnimals(batched, [creation('added')])])
    assert.equal(batches.mock.callCount(), 1)
    assert.deepEqual(await names(store), ['first', 'renamed', 'added'])
    await Promise.all(hot)
    assert.equal(batches.mock.callCount(), 3)
    assert.deepEqual(await names(store), ['third', 'renamed', 'added'])
  })

  test('also take turns with those that have their idempotency key', async t => {
    const store = memoryStore(t)
    await createAnimals(store, [creation('one'), creation('other')])
    const batches = t.mock.method(store, 'write')
    const batched = batchWrites(store, { hasOneWritePerAnimal: true })
    const idempotency = { scope: 's', key: 'k', request: 'r' }
    const remove = (id: bigint) => batched.write([{ kind: 'delete', id, conditions: {}, idempotency }])
    const [[first], [second]] = await Promise.all([remove(1n), remove(2n)])
    assert.equal(batches.mock.callCount(), 2)
    assert.deepEqual([first?.kind, second?.kind], ['deleted', 'replayed'])
    assert.deepEqual(await names(store), ['other'])
  })
})

suite('a creation that repeats the idempotency key of one that is being stored', () => {
  test('gets the same animal, or is rejected if it differs, in the same batch or a later one', async t => {
    const store = memoryStore(t)
    const batches = t.mock.method(store, 'write')
    const batched = batchWrites(store, { limits: { size: 2, queueLength: 100 } })
    const create = (name: string) =>
      createAnimals(batched, [{ ...creation(name), idempotency: { scope: 's', key: 'k' } }])
    const outcomes = (await Promise.all(['Bella', 'Bella', 'Momo', 'Bella'].map(create))).flat()
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['created', 'replayed', 'key_reused', 'replayed'],
    )
    assert.equal(batches.mock.callCount(), 2)
    assert.deepEqual(await names(store), ['Bella'])
  })
})

suite('on SQLite, while a batch waits for a lock, the next creation', () => {
  test('may wait in the queue for longer than that', () => {
    assert.ok(WRITE_QUEUE_TIMEOUT_MS > LOCK_TIMEOUT_MS)
  })

  test('waits in the queue, and is stored after the batch has failed', async t => {
    const path = join(temporaryFolder(), 'animals.db')
    const store = openTestStore(t, path)
    const release = lockForWriting(t, path)
    const batches = t.mock.method(store, 'write')
    // On a busy machine the batch waits for longer than the lock.
    const batched = batchWrites(store, { queueTimeoutMs: 60_000 })
    const first = createAnimals(batched, [creation('first')])
    await waitUntil(() => batches.mock.callCount() === 1, { what: 'the first batch is sent' })
    const second = createAnimals(batched, [creation('second')])
    await assert.rejects(first, isUnavailable)
    release()
    await second
    assert.deepEqual(await names(store), ['second'])
  })
})
