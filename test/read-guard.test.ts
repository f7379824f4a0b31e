// When the main thread may read without the risk that SQLite blocks it. refused-locks.test.ts tests that in a service.

import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { systemClock } from '../src/clock.ts'
import { createLockState, setLocked, setReleased } from '../src/database/sqlite/lock-state.ts'
import { createLockTest } from '../src/database/sqlite/lock-test.ts'
import { createReadGuard } from '../src/database/sqlite/read-guard.ts'
import { closeSession, openSession } from '../src/database/sqlite/session.ts'
import { openSqliteStore } from '../src/database/sqlite/store.ts'
import { temporaryFolder } from './support/service.ts'
import { openDatabase } from './support/sqlite.ts'
import { waitUntil } from './support/wait.ts'

const INSERT = "insert into animals (name, category_id) values ('a', 1)"

/** A guard whose lock test counts how often it is asked, and a writer thread that locks when the test says so. */
function open(t: TestContext) {
  const path = join(temporaryFolder(t), 'a.db')
  const session = openSession(path, { create: true, lockTimeoutMs: 0 })
  t.after(() => closeSession(session, path))
  const other = openDatabase(t, path)
  const state = createLockState()
  const lockTest = { isGranted: true, count: 0 }
  const guard = createReadGuard(state, {
    isGranted() {
      lockTest.count++
      return lockTest.isGranted
    },
    close() {},
  })
  return {
    lockTest,
    canRead: () => guard.canRead(session.wal),
    writeElsewhere: () => other.exec(INSERT),
    lockNewest(othersWrite = false) {
      assert.ok(session.wal.measure())
      setLocked(state, session.wal.size, othersWrite)
    },
    release: () => setReleased(state),
  }
}

suite('the main thread', () => {
  test('reads without a test if the writer thread has locked the newest state', t => {
    const { lockTest, canRead, lockNewest } = open(t)
    lockNewest()
    assert.equal(canRead(), true)
    assert.equal(lockTest.count, 0)
  })

  test('tests the locks after a change by another process', t => {
    const { lockTest, canRead, writeElsewhere, lockNewest } = open(t)
    lockNewest()
    writeElsewhere()
    assert.equal(canRead(), true)
    lockTest.isGranted = false
    assert.equal(canRead(), false)
    assert.equal(lockTest.count, 2)
  })

  test('tests the locks while the writer thread has none', t => {
    const { lockTest, canRead, lockNewest, release } = open(t)
    lockTest.isGranted = false
    assert.equal(canRead(), false)
    lockNewest()
    assert.equal(canRead(), true)
    release()
    assert.equal(canRead(), false)
  })

  test('trusts a lock from its second renewal after the last test: the first may have begun before', t => {
    const { lockTest, canRead, writeElsewhere, lockNewest } = open(t)
    lockNewest()
    writeElsewhere()
    assert.equal(canRead(), true)
    lockTest.isGranted = false
    lockNewest()
    assert.equal(canRead(), false)
    lockNewest()
    assert.equal(canRead(), true)
  })

  test('tests the locks before each read if other processes write, because SQLite may run out of read marks', t => {
    const { lockTest, canRead, lockNewest } = open(t)
    lockNewest(true)
    lockNewest(true)
    lockNewest(true)
    assert.equal(canRead(), true)
    assert.equal(lockTest.count, 1)
    lockTest.isGranted = false
    assert.equal(canRead(), false)
    lockNewest(true)
    lockNewest(true)
    assert.equal(canRead(), true)
  })
})

suite('the test of the locks', () => {
  function createTest(t: TestContext, prepare: (file: string) => void = () => {}) {
    const path = join(temporaryFolder(t), 'a.db')
    prepare(`${path}-lock-test`)
    const lockTest = createLockTest(path)
    t.after(lockTest.close)
    return { folder: dirname(path), lockTest }
  }

  test('succeeds, and leaves no file behind', t => {
    const { folder, lockTest } = createTest(t)
    assert.equal(lockTest.isGranted(), true)
    assert.equal(lockTest.isGranted(), true)
    assert.deepEqual(readdirSync(folder), [])
  })

  test('does not follow a link that somebody has planted', t => {
    const { folder, lockTest } = createTest(t, file => symlinkSync(`${file}-target`, file))
    assert.equal(lockTest.isGranted(), true)
    assert.deepEqual(readdirSync(folder), [])
  })

  test('succeeds if the file cannot be created', t => {
    const { folder, lockTest } = createTest(t, file => mkdirSync(file))
    assert.equal(lockTest.isGranted(), true)
    assert.deepEqual(readdirSync(folder), ['a.db-lock-test'])
  })

  test('uses no descriptor once the store is closed', { skip: process.platform !== 'linux' }, async t => {
    const path = join(temporaryFolder(t), 'a.db')
    const store = openSqliteStore({ path, clock: systemClock, create: true, startsWriter: true })
    await store.ping()
    // One of the main thread, one of the writer thread.
    assert.equal(descriptorsOf(path), 2)
    await store.close()
    await waitUntil(() => descriptorsOf(path) === 0, { what: 'the descriptors are closed' })
  })
})

/** How often this process has the file of the lock test open. */
function descriptorsOf(path: string): number {
  const targets = readdirSync('/proc/self/fd').map(descriptor => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`)
    } catch {
      // The one that has just read the folder.
      return ''
    }
  })
  return targets.filter(target => target.startsWith(`${path}-lock-test`)).length
}
