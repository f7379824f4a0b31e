// A reader never ends while the service tries to save a write-ahead log (WAL) that was removed, as if its lock were stuck.

import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, type TestContext, test } from 'node:test'
import { createWalRescue, MAX_WAIT_MS } from '../src/database/sqlite/lost-wal.ts'
import { closeSession, openSession } from '../src/database/sqlite/session.ts'
import { createWriteTransactions } from '../src/database/sqlite/write-transactions.ts'
import { skipTime } from './support/clock.ts'
import { temporaryFolder } from './support/service.ts'
import { queryValue } from './support/sqlite.ts'

const INSERT = "insert into animals (name, category_id) values ('a', 1)"

/** A database with two animals in the WAL, which is removed, and a reader of the first state or of the second. */
function start(t: TestContext, { reads }: { readonly reads: 'the newest state' | 'an older state' }) {
  const path = join(temporaryFolder(t), 'a.db')
  const session = openSession(path, { create: true, isWriter: true, lockTimeoutMs: 0 })
  t.after(() => session.wal.close())
  session.readLock?.release()
  const reader = new DatabaseSync(path)
  const beginRead = () => reader.exec('begin; select * from animals')
  session.database.exec(INSERT)
  if (reads === 'an older state') beginRead()
  session.database.exec(INSERT)
  if (reads === 'the newest state') beginRead()
  rmSync(`${path}-wal`)
  const rescue = createWalRescue(path)
  return {
    path,
    rescue,
    save: () => rescue.save(session.database, session.wal),
    close() {
      closeSession(session, path)
      reader.close()
    },
  }
}

const STILL_USED = { name: 'DatabaseLocked', message: 'readers still use the write-ahead log' }

suite('while a reader uses a WAL that was removed', () => {
  test('the database stays open for some time, and is closed then if all is saved', t => {
    const { path, rescue, save, close } = start(t, { reads: 'the newest state' })
    assert.throws(save, STILL_USED)
    skipTime(t, MAX_WAIT_MS)
    save()
    rescue.requireSaved()
    close()
    assert.equal(queryValue(path, 'select count(*) from animals'), 2)
  })

  test('what is not saved is saved by the connection that closes last, before the database is opened again', t => {
    const { path, rescue, save, close } = start(t, { reads: 'an older state' })
    assert.throws(save, STILL_USED)
    skipTime(t, MAX_WAIT_MS)
    save()
    assert.throws(rescue.requireSaved, { name: 'DatabaseLocked', message: /other processes still use/ })
    close()
    rescue.requireSaved()
    assert.equal(queryValue(path, 'select count(*) from animals'), 2)
  })

  test('the database stays open if not all is saved and its index is gone, too', t => {
    const { path, save, close } = start(t, { reads: 'an older state' })
    rmSync(`${path}-shm`)
    assert.throws(save, STILL_USED)
    skipTime(t, MAX_WAIT_MS)
    assert.throws(save, STILL_USED)
    close()
  })

  test('writes fail until what was not saved is saved, and work again without help', async t => {
    const path = join(temporaryFolder(t), 'a.db')
    const first = openSession(path, { create: true, lockTimeoutMs: 0 })
    closeSession(first, path)
    const transactions = createWriteTransactions(path, {
      checkedFile: first.file,
      onReleased: () => transactions.onReaderClosed(),
    })
    t.after(transactions.close)
    const insert = () => transactions.write(({ insertAnimals }) => insertAnimals(1).run('a', 1n, null))
    const failsWith = (pattern: RegExp) => (error: Error) => pattern.test(String(error.cause))
    await insert()
    const reader = new DatabaseSync(path)
    reader.exec('begin; select * from animals')
    await insert()
    rmSync(`${path}-wal`)
    await assert.rejects(insert(), failsWith(/readers still use/))
    skipTime(t, MAX_WAIT_MS)
    await assert.rejects(insert(), failsWith(/other processes still use/))
    reader.close()
    await insert()
    assert.equal(queryValue(path, 'select count(*) from animals'), 3)
  })
})
