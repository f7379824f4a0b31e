// SQLite files that another process locks while the store uses them, and values that SQLite rejects.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isUnavailable, ServiceError } from '../src/error.ts'
import { temporaryFolder } from './support/service.ts'
import { addAnimal, animalNames, lockForWriting, openTestStore } from './support/sqlite.ts'

suite('a SQLite file that another process has locked', () => {
  test('delays writes, does not delay reads, and rejects a write that waits too long', async t => {
    const path = join(temporaryFolder(t), 'a.db')
    const store = openTestStore(t, path)
    await addAnimal(store, 'a')
    const unlock = lockForWriting(t, path)
    const waiting = addAnimal(store, 'b')
    assert.deepEqual(await animalNames(store), ['a'])
    unlock()
    await waiting
    assert.deepEqual(await animalNames(store), ['a', 'b'])
    const unlockAgain = lockForWriting(t, path)
    await assert.rejects(addAnimal(store, 'c'), isUnavailable)
    unlockAgain()
    assert.deepEqual(await animalNames(store), ['a', 'b'])
    await addAnimal(store, 'd')
    assert.deepEqual(await animalNames(store), ['a', 'b', 'd'])
  })

  test('does not block the event loop while many writes wait', async t => {
    const path = join(temporaryFolder(t), 'a.db')
    const store = openTestStore(t, path)
    const unlock = lockForWriting(t, path)
    const waiting = Promise.all(Array.from({ length: 100 }, (_, index) => addAnimal(store, `a${index}`)))
    // If each write blocked for 50 ms, each turn of the event loop would take 5 seconds.
    const since = performance.now()
    for (let turn = 0; turn < 50; turn++) await nextTurn()
    assert.ok(performance.now() - since < 1_000)
    unlock()
    await waiting
    assert.equal((await animalNames(store)).length, 100)
  })
})

suite('an invalid value from our own code', () => {
  test('is reported as a bug, not as unavailable, and stores nothing of its batch', async t => {
    const store = openTestStore(t, join(temporaryFolder(t), 'a.db'))
    const badStatus = { name: 'a', categoryId: 1n, status: 'lost' as 'sold' }
    await assert.rejects(
      store.createAnimals([{ animal: { name: 'x', categoryId: 1n } }, { animal: badStatus }]),
      (error: unknown) => !(error instanceof ServiceError),
    )
    assert.deepEqual(await animalNames(store), [])
    await addAnimal(store, 'a')
    assert.deepEqual(await animalNames(store), ['a'])
  })
})
