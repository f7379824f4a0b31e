// When the main thread may read without the risk that SQLite blocks it. refused-locks.test.ts tests that in a service.

import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { createLockTest } from '../src/database/sqlite/lock-test.ts'
import { createLockedSize, setLockedSize } from '../src/database/sqlite/locked-size.ts'
import { createReadGuard } from '../src/database/sqlite/read-guard.ts'
import { closeSession, openSession } from '../src/database/sqlite/session.ts'
import { temporaryFolder } from './support/service.ts'
import { openDatabase } from './support/sqlite.ts'

const INSERT = "insert into animals (name, category_id) values ('a', 1)"

/** A guard whose lock test counts how often it is asked, and a writer thread that locks when the test says so. */
function open(t: TestContext) {
  const path = join(temporaryFolder(t), 'a.db')
  const session = openSession(path, { create: true, lockTimeoutMs: 0 })
  t.after(() => closeSession(session, path))
  const other = openDatabase(t, path)
  const locked = createLockedSize()
  const lockTest = { isGranted: true, count: 0 }
  const guard = createReadGuard(locked, {
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
    lockNewest() {
      assert.ok(session.wal.measure())
      setLockedSize(locked, session.wal.size)
    },
    release: () => setLockedSize(locked),
  }
}

suite('the main thread', () => {
  test('may read without a test if the writer thread has locked the newest state', t => {
    const { lockTest, canRead, lockNewest } = open(t)
    lockNewest()
    lockNewest()
    lockTest.isGranted = false
    assert.equal(canRead(), true)
    assert.equal(lockTest.count, 0)
  })

  test('must test the locks after a change by another process', t => {
    const { lockTest, canRead, writeElsewhere, lockNewest } = open(t)
    lockNewest()
    lockNewest()
    writeElsewhere()
    assert.equal(canRead(), true)
    lockTest.isGranted = false
    assert.equal(canRead(), false)
    assert.equal(lockTest.count, 2)
  })

  test('must test the locks while the writer thread has none', t => {
    const { lockTest, canRead, lockNewest, release } = open(t)
    lockTest.isGranted = false
    assert.equal(canRead(), false)
    lockNewest()
    lockNewest()
    assert.equal(canRead(), true)
    release()
    assert.equal(canRead(), false)
  })

  test('shares a lock only from the second renewal after its own: the first may have begun before', t => {
    const { lockTest, canRead, writeElsewhere, lockNewest } = open(t)
    lockNewest()
    lockNewest()
    writeElsewhere()
    assert.equal(canRead(), true)
    lockTest.isGranted = false
    lockNewest()
    assert.equal(canRead(), false)
    lockNewest()
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
})
