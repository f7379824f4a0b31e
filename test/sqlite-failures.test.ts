// SQLite files that are moved, replaced or locked while the store uses them.

import assert from 'node:assert/strict'
import { copyFileSync, existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { systemClock } from '../src/clock.ts'
import { openSqliteStore } from '../src/database/sqlite/store.ts'
import { isUnavailable, ServiceError } from '../src/error.ts'
import { temporaryFolder } from './support/service.ts'
import {
  addAnimal,
  animalNames,
  countAnimals,
  lockForWriting,
  openDatabase,
  openTestStore,
  queryValue,
  runSql,
} from './support/sqlite.ts'

/** Creates a backup with one animal. Returns its path. */
async function createBackup(folder: string): Promise<string> {
  const path = join(folder, 'backup.db')
  const store = openSqliteStore({ path, clock: systemClock, create: true })
  await addAnimal(store, 'from the backup')
  await store.close()
  return path
}

suite('a SQLite file that is moved or replaced while it is in use', () => {
  test('is unavailable while it is moved away, is not created again, and works again once it is back', async t => {
    const folder = temporaryFolder(t)
    const path = join(folder, 'a.db')
    const store = openTestStore(t, path)
    await addAnimal(store, 'a')
    renameSync(path, join(folder, 'elsewhere.db'))
    await assert.rejects(addAnimal(store, 'lost?'), isUnavailable)
    await assert.rejects(store.listAnimals({ limit: 1 }), isUnavailable)
    await assert.rejects(store.ping(), isUnavailable)
    assert.ok(!existsSync(path))
    renameSync(join(folder, 'elsewhere.db'), path)
    await store.ping()
    await addAnimal(store, 'b')
    assert.deepEqual(await animalNames(store), ['a', 'b'])
  })

  const replacements: [string, (folder: string) => void][] = [
    [
      'moved away and replaced by a backup',
      folder => renameSync(join(folder, 'a.db'), join(folder, 'old.db')),
    ],
    ['overwritten by a backup', () => {}],
  ]
  for (const [how, prepare] of replacements) {
    test(`${how}: unavailable until the old write-ahead log is removed, then the backup is served`, async t => {
      const folder = temporaryFolder(t)
      const path = join(folder, 'a.db')
      const backup = await createBackup(folder)
      const store = openTestStore(t, path)
      // Enough for an automatic checkpoint, so that both the file and the write-ahead log contain animals.
      for (let batch = 0; batch < 5; batch++) {
        const animals = Array.from({ length: 1_000 }, () => ({
          animal: { name: 'x'.repeat(900), categoryId: 1n },
        }))
        await store.createAnimals(animals)
      }
      await addAnimal(store, 'last')
      prepare(folder)
      renameSync(backup, path)
      await assert.rejects(store.listAnimals({ limit: 1 }), isUnavailable)
      await assert.rejects(addAnimal(store, 'lost?'), isUnavailable)
      for (const suffix of ['-wal', '-shm']) renameSync(path + suffix, join(folder, `old.db${suffix}`))
      assert.deepEqual(await animalNames(store), ['from the backup'])
      await addAnimal(store, 'b')
      await store.close()
      assert.equal(queryValue(path, 'pragma integrity_check'), 'ok')
      assert.equal(countAnimals(path), 2)
    })
  }

  test('moved away with its write-ahead log: a backup in its place is served immediately, and the old file is intact', async t => {
    const folder = temporaryFolder(t)
    const path = join(folder, 'a.db')
    const backup = await createBackup(folder)
    const store = openTestStore(t, path)
    await addAnimal(store, 'a')
    for (const suffix of ['', '-wal', '-shm']) renameSync(path + suffix, join(folder, `old.db${suffix}`))
    copyFileSync(backup, path)
    await addAnimal(store, 'b')
    assert.deepEqual(await animalNames(store), ['from the backup', 'b'])
    assert.deepEqual(await animalNames(openTestStore(t, join(folder, 'old.db'), { create: false })), ['a'])
  })
})

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

  test('does not block the event loop when it was restored a moment ago and has to be opened', async t => {
    const folder = temporaryFolder(t)
    const path = join(folder, 'a.db')
    const backup = await createBackup(folder)
    const store = openTestStore(t, path)
    await addAnimal(store, 'a')
    for (const suffix of ['', '-wal', '-shm']) renameSync(path + suffix, join(folder, `old.db${suffix}`))
    // Like a copy that `vacuum into` made: without a write-ahead log, nobody can read it while another process writes.
    runSql(backup, 'pragma journal_mode = delete')
    const other = openDatabase(t, backup)
    other.exec('begin exclusive')
    renameSync(backup, path)
    let isAnswered = false
    const listing = assert.rejects(store.listAnimals({ limit: 1 }), isUnavailable).finally(() => {
      isAnswered = true
    })
    // If this thread waited for the lock, the whole wait would be one turn of the event loop.
    let turns = 0
    for (; !isAnswered; turns++) await delay(1)
    await listing
    assert.ok(turns > 20, `only ${turns} turns`)
    other.exec('rollback')
    assert.deepEqual(await animalNames(store), ['from the backup'])
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
