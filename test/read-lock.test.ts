// The read lock of the writer thread, and locks that SQLite cannot release. refused-locks.test.ts tests both in a service.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { createReadLock } from '../src/database/sqlite/read-lock.ts'
import { closeSession, openSession } from '../src/database/sqlite/session.ts'
import { createStuckLocks } from '../src/database/sqlite/stuck-locks.ts'
import { LONG_WAL_FRAMES } from '../src/database/sqlite/wal.ts'
import { temporaryFolder } from './support/service.ts'
import { openDatabase } from './support/sqlite.ts'

const INSERT = "insert into animals (name, category_id) values ('a', 1)"

function open(t: TestContext) {
  const path = join(temporaryFolder(t), 'a.db')
  const session = openSession(path, { create: true, isWriter: true, lockTimeoutMs: 0 })
  t.after(() => closeSession(session, path))
  const { database, wal, readLock } = session
  assert.ok(readLock)
  const other = openDatabase(t, path)
  other.exec('pragma wal_autocheckpoint = 0')
  return {
    wal,
    readLock,
    path,
    write: () => database.exec(INSERT),
    writeElsewhere: () => other.exec(INSERT),
    writeLongWal: () => other.exec(`create table long_wal as select zeroblob(${LONG_WAL_FRAMES * 4096})`),
    /** Fails while there is a read lock on an older state of the WAL. */
    canCopyAll: () => {
      const size = other.prepare('pragma wal_checkpoint(passive)').get()
      return size?.checkpointed === size?.log
    },
    /** Fails while there is a read lock on the WAL. */
    canTruncate: () => other.prepare('pragma wal_checkpoint(truncate)').get()?.busy === 0,
  }
}

suite('the read lock', () => {
  test('is held after a change by this process', t => {
    const { readLock, write, canTruncate } = open(t)
    write()
    assert.equal(canTruncate(), true)
    write()
    readLock.renew()
    assert.equal(canTruncate(), false)
    readLock.release()
    assert.equal(canTruncate(), true)
  })

  test('is held from the start if nobody writes', t => {
    const { wal, readLock, write, canTruncate } = open(t)
    write()
    wal.measure()
    assert.equal(readLock.renewOrLock(), true)
    assert.equal(readLock.renewOrLock(), false)
    assert.equal(canTruncate(), false)
  })

  test('is renewed after a change by another process, so that the whole WAL can be copied', t => {
    const { wal, readLock, write, writeElsewhere, canCopyAll } = open(t)
    write()
    readLock.renew()
    writeElsewhere()
    assert.equal(canCopyAll(), false)
    wal.measure()
    assert.equal(readLock.renewOrLock(), false)
    assert.equal(canCopyAll(), true)
  })

  test('leaves a long WAL to other processes that write, and a short one not', t => {
    const { wal, readLock, write, writeElsewhere, writeLongWal, canTruncate } = open(t)
    writeLongWal()
    readLock.renew()
    assert.equal(canTruncate(), false)
    writeElsewhere()
    wal.measure()
    assert.equal(readLock.renewOrLock(), false)
    write()
    readLock.renew()
    assert.equal(readLock.renewOrLock(), false)
    assert.equal(canTruncate(), true)
    write()
    readLock.renew()
    assert.equal(canTruncate(), false)
  })

  test('fails silently if the database cannot be opened once more', t => {
    const { wal, path } = open(t)
    const readLock = createReadLock(join(path, 'missing'), wal)
    readLock.renew()
    assert.equal(readLock.renewOrLock(), false)
    readLock.release()
    readLock.close()
  })
})

suite('all connections are closed because of a stuck lock', () => {
  test('if a wait was in vain, and the system has granted a lock since', () => {
    const stuckLocks = createStuckLocks()
    stuckLocks.onGranted()
    assert.equal(stuckLocks.takeDecision(), false)
    assert.equal(stuckLocks.needsProof(), false)
    stuckLocks.onTimeout()
    assert.equal(stuckLocks.needsProof(), true)
    assert.equal(stuckLocks.takeDecision(), false)
    stuckLocks.onGranted()
    stuckLocks.onTimeout()
    assert.equal(stuckLocks.needsProof(), false)
    assert.equal(stuckLocks.takeDecision(), true)
  })

  test('at most once in 10 seconds', () => {
    const stuckLocks = createStuckLocks()
    const timeOutAndGrant = () => {
      stuckLocks.onTimeout()
      stuckLocks.onGranted()
      return stuckLocks.takeDecision()
    }
    assert.equal(timeOutAndGrant(), true)
    assert.equal(timeOutAndGrant(), false)
  })
})
