// The read lock of the writer thread, and locks that SQLite cannot release. refused-locks.test.ts tests both in a service.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { suite, type TestContext, test } from 'node:test'
import { copyWal } from '../src/database/sqlite/checkpoint.ts'
import { createLockState, doOthersWrite, isLockedAt } from '../src/database/sqlite/lock-state.ts'
import { createReadLock } from '../src/database/sqlite/read-lock.ts'
import { closeSession, openSession } from '../src/database/sqlite/session.ts'
import { createStuckLocks } from '../src/database/sqlite/stuck-locks.ts'
import { LONG_WAL_FRAMES, STUCK_WAL_FRAMES } from '../src/database/sqlite/wal.ts'
import { createWriteTransactions } from '../src/database/sqlite/write-transactions.ts'
import { temporaryFolder } from './support/service.ts'
import { openDatabase } from './support/sqlite.ts'
import { waitUntil } from './support/wait.ts'

const INSERT = "insert into animals (name, category_id) values ('a', 1)"

/** Where the `-shm` file has the read marks: the states that were locked last (https://www.sqlite.org/walformat.html). */
const READ_MARKS_OFFSET = 100
const READ_MARKS = 5

function open(t: TestContext) {
  const path = join(temporaryFolder(t), 'a.db')
  const lockState = createLockState()
  const session = openSession(path, { create: true, isWriter: true, lockState, lockTimeoutMs: 0 })
  const { database, wal, readLock } = session
  t.after(() => {
    closeSession(session, path)
    wal.close()
  })
  assert.ok(readLock)
  const other = openDatabase(t, path)
  other.exec('pragma wal_autocheckpoint = 0')
  return {
    wal,
    readLock,
    path,
    write: () => database.exec(INSERT),
    /** What the main thread is told. */
    isReported: () => isLockedAt(lockState, wal.size),
    areOthersReported: () => doOthersWrite(lockState),
    copy: () => copyWal(session),
    writeElsewhere: () => other.exec(INSERT),
    writeLongWal: () => writePages(other, LONG_WAL_FRAMES),
    /** False while there is a read lock on an older state of the WAL, or on the database file alone. */
    canCopyAll: () => {
      const size = other.prepare('pragma wal_checkpoint(passive)').get()
      return size?.checkpointed === size?.log
    },
    /** False while there is a read lock on the WAL. */
    canTruncate: () => other.prepare('pragma wal_checkpoint(truncate)').get()?.busy === 0,
    readMarks: () => {
      const index = readFileSync(`${path}-shm`)
      return Array.from({ length: READ_MARKS }, (_, slot) => index.readUInt32LE(READ_MARKS_OFFSET + 4 * slot))
    },
  }
}

function writePages(database: DatabaseSync, pages: number): void {
  database.exec('create table if not exists long_wal (bytes blob)')
  database.exec(`insert into long_wal values (zeroblob(${pages * 4096}))`)
}

suite('the read lock', () => {
  test('is held after a change by this process', t => {
    const { readLock, write, canTruncate, isReported } = open(t)
    write()
    assert.equal(canTruncate(), true)
    write()
    assert.equal(isReported(), false)
    readLock.renew()
    assert.equal(canTruncate(), false)
    assert.equal(isReported(), true)
    readLock.release()
    assert.equal(canTruncate(), true)
    assert.equal(isReported(), false)
    readLock.renew()
    assert.equal(isReported(), true)
    readLock.close()
    assert.equal(isReported(), false)
  })

  test('is held from the start if nobody writes', t => {
    const { wal, readLock, write, canTruncate } = open(t)
    write()
    wal.measure()
    assert.equal(readLock.check(), true)
    assert.equal(readLock.check(), false)
    assert.equal(canTruncate(), false)
  })

  test('on the newest state is taken before the older one is released', t => {
    const { wal, readLock, write, readMarks } = open(t)
    write()
    readLock.renew()
    const older = wal.size.frames
    write()
    readLock.renew()
    // SQLite would use the mark of the older state for the newer one if no lock were held on it.
    assert.ok(readMarks().includes(older))
    assert.ok(readMarks().includes(wal.size.frames))
  })

  test('is renewed after a checkpoint, so that SQLite can restart the WAL', t => {
    const { wal, readLock, write, copy } = open(t)
    write()
    write()
    readLock.renew()
    const { frames } = wal.size
    assert.equal(copy(), true)
    write()
    readLock.renew()
    assert.ok(wal.size.frames < frames)
  })

  test('is renewed after a change by another process, so that the whole WAL can be copied', t => {
    const { wal, readLock, write, writeElsewhere, canCopyAll, isReported, areOthersReported } = open(t)
    write()
    readLock.renew()
    writeElsewhere()
    assert.equal(canCopyAll(), false)
    assert.equal(areOthersReported(), false)
    wal.measure()
    assert.equal(isReported(), false)
    readLock.renewIfChanged()
    assert.equal(isReported(), true)
    assert.equal(areOthersReported(), true)
    assert.equal(canCopyAll(), true)
  })

  test('is given up while other processes write a long WAL, until it is copied', t => {
    const { wal, readLock, writeElsewhere, writeLongWal, canTruncate, canCopyAll, copy, isReported } = open(t)
    writeLongWal()
    readLock.renew()
    assert.equal(readLock.isGivenUp(), false)
    assert.equal(canTruncate(), false)
    writeElsewhere()
    wal.measure()
    assert.equal(readLock.check(), false)
    assert.equal(readLock.isGivenUp(), true)
    assert.equal(isReported(), false)
    assert.equal(canTruncate(), true)

    writeLongWal()
    assert.equal(copy(), true)
    assert.equal(readLock.isGivenUp(), false)
    writeElsewhere()
    assert.equal(canCopyAll(), false)
  })

  test('fails silently if the database cannot be opened once more', t => {
    const { wal, path } = open(t)
    const readLock = createReadLock(join(path, 'missing'), wal)
    readLock.renew()
    assert.equal(readLock.check(), false)
    readLock.release()
    readLock.close()
  })
})

suite('all connections are closed because of a stuck lock', () => {
  test('if a wait was in vain, and the system has granted a lock since', () => {
    const stuckLocks = createStuckLocks()
    stuckLocks.onGranted()
    assert.equal(stuckLocks.takeDecision(), false)
    assert.equal(stuckLocks.shouldTestLocks(), false)
    stuckLocks.suspect()
    assert.equal(stuckLocks.shouldTestLocks(), true)
    assert.equal(stuckLocks.takeDecision(), false)
    stuckLocks.onGranted()
    stuckLocks.suspect()
    assert.equal(stuckLocks.shouldTestLocks(), false)
    assert.equal(stuckLocks.takeDecision(), true)
  })

  test('at most once in 10 seconds', () => {
    const stuckLocks = createStuckLocks()
    const timeOutAndGrant = () => {
      stuckLocks.suspect()
      stuckLocks.onGranted()
      return stuckLocks.takeDecision()
    }
    assert.equal(timeOutAndGrant(), true)
    stuckLocks.suspect()
    assert.equal(stuckLocks.shouldTestLocks(), false)
    assert.equal(timeOutAndGrant(), false)
  })
})

suite('a process that does not write', () => {
  async function start(t: TestContext) {
    const { path } = open(t)
    let isReleased = false
    const transactions = createWriteTransactions(path, {
      checkedFile: undefined,
      onReleased: () => {
        isReleased = true
      },
    })
    t.after(transactions.close)
    await transactions.prepareFile()
    const other = openDatabase(t, path)
    other.exec('pragma wal_autocheckpoint = 0')
    return { path, other, isReleased: () => isReleased }
  }

  test('copies a long WAL that another one has written, and locks again', async t => {
    const { other } = await start(t)
    writePages(other, LONG_WAL_FRAMES)
    const size = other.prepare('pragma wal_checkpoint(noop)')
    await waitUntil(() => size.get()?.log === size.get()?.checkpointed, { what: 'the WAL is copied' })
    other.exec(INSERT)
    // The lock is on the database file alone, which must not change then.
    assert.equal(other.prepare('pragma wal_checkpoint(passive)').get()?.checkpointed, 0)
  })

  test('closes no connection because of a large transaction', async t => {
    const { other, isReleased } = await start(t)
    writePages(other, STUCK_WAL_FRAMES)
    const size = other.prepare('pragma wal_checkpoint(noop)')
    await waitUntil(() => size.get()?.log === size.get()?.checkpointed, { what: 'the WAL is copied' })
    assert.equal(isReleased(), false)
  })

  test('closes all connections if its lock may be the one that keeps the WAL from being restarted', async t => {
    const { path, other, isReleased } = await start(t)
    const reader = openDatabase(t, path)
    reader.exec('begin; select * from animals')
    writePages(other, STUCK_WAL_FRAMES)
    await waitUntil(isReleased, { what: 'all connections are closed' })
  })
})
