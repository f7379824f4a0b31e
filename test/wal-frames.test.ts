// The write-ahead log (WAL) is truncated or overwritten at the worst moment, while SQLite writes to it.

import assert from 'node:assert/strict'
import fs, { copyFileSync, openSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { copyWal } from '../src/database/sqlite/checkpoint.ts'
import { isLocked } from '../src/database/sqlite/result-codes.ts'
import { closeSession, openSession } from '../src/database/sqlite/session.ts'
import { createFrameCheck } from '../src/database/sqlite/wal-frames.ts'
import { createWriteTransactions } from '../src/database/sqlite/write-transactions.ts'
import { isUnavailable } from '../src/error.ts'
import { temporaryFolder } from './support/service.ts'
import { openDatabase, queryValue } from './support/sqlite.ts'

const WAL_HEADER_BYTES = 32
const FRAME_BYTES = 24 + 4096

/** A database whose WAL is not copied, and a check of its frames. */
function open(t: TestContext) {
  const path = join(temporaryFolder(t), 'a.db')
  const database = openDatabase(t, path)
  database.exec('pragma journal_mode = wal; pragma wal_autocheckpoint = 0; create table numbers (number)')
  const size = database.prepare('pragma wal_checkpoint(noop)')
  const wal = `${path}-wal`
  const descriptor = openSync(wal, 'r')
  t.after(() => fs.closeSync(descriptor))
  return {
    database,
    wal,
    write: () => database.exec('insert into numbers values (1)'),
    frames: () => Number(size.get()?.log),
    areFramesValid: createFrameCheck(descriptor, 4096),
  }
}

suite('the frames of a WAL', () => {
  test('are valid as long as only SQLite changes it, also after it was restarted', t => {
    const { database, write, frames, areFramesValid } = open(t)
    assert.equal(areFramesValid(0), true)
    for (let count = 0; count < 40; count++) {
      write()
      assert.equal(areFramesValid(frames()), true)
    }
    assert.equal(areFramesValid(1), true)
    assert.equal(areFramesValid(frames()), true)
    const before = frames()
    database.exec('pragma wal_checkpoint(restart)')
    write()
    assert.ok(frames() < before)
    assert.equal(areFramesValid(frames()), true)
    assert.equal(areFramesValid(frames() + 1), false)
  })

  test('are valid after a failed check and a rollback', t => {
    const { database, wal, write, frames, areFramesValid } = open(t)
    database.exec('pragma cache_size = 5')
    for (let count = 0; count < 40; count++) write()
    const before = frames()
    const header = readFileSync(wal).subarray(0, WAL_HEADER_BYTES)
    assert.equal(areFramesValid(before), true)
    database.exec('pragma wal_checkpoint(restart)')
    // The cache is too small, so SQLite writes to the WAL before the commit.
    const insert = `insert into numbers select randomblob(3000) from (values ${Array(20).fill('(1)')})`
    database.exec(`begin; ${insert}`)
    assert.ok(!readFileSync(wal).subarray(0, WAL_HEADER_BYTES).equals(header))
    assert.equal(areFramesValid(before), false)
    database.exec('rollback')
    database.exec(`${insert}; ${insert}`)
    assert.equal(areFramesValid(frames()), true)
  })

  test('are not valid if a single byte is changed', t => {
    const { wal, write, frames, areFramesValid } = open(t)
    write()
    const count = frames()
    assert.equal(areFramesValid(count), true)
    const bytes = readFileSync(wal)
    const lastFrame = WAL_HEADER_BYTES + (count - 1) * FRAME_BYTES
    // The magic number, salts and checksum of the header; page number, salts, checksum and page of the last frame.
    for (const offset of [0, 16, 31, ...[3, 8, 23, 24, 4119].map(offset => lastFrame + offset)]) {
      bytes.writeUInt8(bytes.readUInt8(offset) ^ 4, offset)
      writeFileSync(wal, bytes)
      assert.equal(areFramesValid(count), false, `byte ${offset}`)
      bytes.writeUInt8(bytes.readUInt8(offset) ^ 4, offset)
    }
    writeFileSync(wal, bytes)
    assert.equal(areFramesValid(count), true)
  })

  test('are not valid if the file contains only zeros', t => {
    const { wal, write, frames } = open(t)
    write()
    const descriptor = openSync(wal, 'r')
    t.after(() => fs.closeSync(descriptor))
    writeFileSync(wal, Buffer.alloc(statSync(wal).size))
    assert.equal(createFrameCheck(descriptor, 4096)(frames()), false)
  })

  test('are not valid if the file is too short, or cannot be read', t => {
    const { wal, write, frames, areFramesValid } = open(t)
    write()
    const count = frames()
    truncateSync(wal, statSync(wal).size - 1)
    assert.equal(areFramesValid(count), false)
    truncateSync(wal, WAL_HEADER_BYTES - 1)
    assert.equal(areFramesValid(count), false)
    assert.equal(createFrameCheck(-1, 4096)(count), false)
  })
})

/** Calls back when the WAL was found in place within a transaction. Returns what must be called in that transaction. */
function afterNextCheck(t: TestContext, path: string, callback: () => void): () => void {
  const { statSync: original } = fs
  let isDue = false
  const mock = t.mock.method(fs, 'statSync', (...args: Parameters<typeof original>) => {
    const stats = original(...args)
    // The check looks at the index of the WAL last.
    if (isDue && args[0] === `${path}-shm`) {
      isDue = false
      callback()
    }
    return stats
  })
  syncBuiltinESMExports()
  t.after(() => {
    mock.mock.restore()
    syncBuiltinESMExports()
  })
  return () => {
    isDue = true
  }
}

suite('a WAL that contains zeros is not copied to the database file', () => {
  /** A database with animals in the file and in the WAL, which is then overwritten. */
  function damaged(t: TestContext, isWriter: boolean) {
    const path = join(temporaryFolder(t), 'a.db')
    const session = openSession(path, { create: true, isWriter, lockTimeoutMs: 0 })
    t.after(() => session.wal.close())
    const insert = "insert into animals (name, category_id) values ('a', 1)"
    session.database.exec(`${insert}; pragma wal_checkpoint(truncate); ${insert}; create table more (name)`)
    writeFileSync(`${path}-wal`, Buffer.alloc(statSync(`${path}-wal`).size))
    return { path, session, bytes: readFileSync(path) }
  }

  for (const isWriter of [true, false]) {
    test(`when the connection of the ${isWriter ? 'writer' : 'reader'} closes last`, t => {
      const { path, session, bytes } = damaged(t, isWriter)
      closeSession(session, path)
      assert.deepEqual(readFileSync(path), bytes)
      assert.equal(queryValue(path, 'select count(*) from animals'), 1)
      assert.equal(queryValue(path, 'pragma integrity_check'), 'ok')
    })
  }

  test('by a checkpoint', t => {
    const { path, session, bytes } = damaged(t, true)
    assert.throws(() => copyWal(session), isLocked)
    closeSession(session, path)
    assert.deepEqual(readFileSync(path), bytes)
  })
})

suite('the WAL is truncated after it was checked, before SQLite writes to it', () => {
  const cuts: Record<string, (size: number) => number> = {
    completely: () => 0,
    'to a half': size => size / 2,
    'by one byte': size => size - 1,
  }
  for (const [what, cut] of Object.entries(cuts)) {
    test(`${what}: the write fails, and later ones survive a crash`, async t => {
      const folder = temporaryFolder(t)
      const path = join(folder, 'a.db')
      const first = openSession(path, { create: true, lockTimeoutMs: 0 })
      closeSession(first, path)
      const transactions = createWriteTransactions(path, {
        checkedFile: first.file,
        onReleased: () => setImmediate(() => transactions.onReaderClosed()),
      })
      t.after(() => transactions.close())
      const insert = (name: string, onStep = () => {}) =>
        transactions.write(({ insertAnimals }) => {
          insertAnimals(1).run(name, 1n, null)
          onStep()
        })
      for (let count = 0; count < 10; count++) await insert('earlier')
      const wal = `${path}-wal`
      const onStep = afterNextCheck(t, path, () => truncateSync(wal, cut(statSync(wal).size)))
      await assert.rejects(insert('lost', onStep), isUnavailable)
      for (let count = 0; count < 20; count++) await insert('later')

      const crashed = join(folder, 'crashed.db')
      for (const suffix of ['', '-wal']) copyFileSync(path + suffix, crashed + suffix)
      assert.equal(queryValue(crashed, "select count(*) from animals where name = 'later'"), 20)
      assert.equal(queryValue(crashed, 'pragma integrity_check'), 'ok')
    })
  }
})
