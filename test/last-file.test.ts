// A database file that takes the place of another one is recognised, even if it has the same inode number.

import assert from 'node:assert/strict'
import { chmodSync, copyFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { createLastFile } from '../src/database/sqlite/last-file.ts'
import { closeSession, openSession } from '../src/database/sqlite/session.ts'
import { UnusableDatabase } from '../src/store.ts'
import { temporaryFolder } from './support/service.ts'
import { waitUntil } from './support/wait.ts'

/** A database that was open, and whose WAL is still next to it. File systems measure times in steps of milliseconds. */
async function start(t: TestContext) {
  const path = join(temporaryFolder(t), 'a.db')
  const session = openSession(path, { create: true, isWriter: true, lockTimeoutMs: 0 })
  await waitUntil(
    () => {
      chmodSync(path, 0o600)
      const { birthtimeMs, ctimeMs } = statSync(path)
      return birthtimeMs !== ctimeMs
    },
    { what: 'a change later than the creation' },
  )
  const lastFile = createLastFile(path, undefined)
  lastFile.onOpened(session)
  t.after(lastFile.close)
  renameSync(path, `${path}-moved`)
  closeSession(session, path)
  renameSync(`${path}-moved`, path)
  return { path, file: session.file as string, lastFile }
}

/** Replaces the file by one with another creation time. */
async function replaceLater(path: string): Promise<void> {
  const { birthtimeMs } = statSync(path)
  renameSync(path, `${path}-old`)
  await waitUntil(
    () => {
      rmSync(path, { force: true })
      copyFileSync(`${path}-old`, path)
      return statSync(path).birthtimeMs !== birthtimeMs
    },
    { what: 'a file with another creation time' },
  )
}

suite('the file that was open last', () => {
  test('is the same one after it was moved away and back', async t => {
    const { path, file, lastFile } = await start(t)
    assert.equal(lastFile.isSame(file), true)
    renameSync(path, `${path}-moved`)
    renameSync(`${path}-moved`, path)
    assert.equal(lastFile.isSame(file), true)
  })

  test('is another one if it was created later, and must not be used with the old WAL', async t => {
    const { path, file, lastFile } = await start(t)
    if (statSync(path).birthtimeMs === 0)
      return t.skip('this file system does not store when a file was created')
    await replaceLater(path)
    // As if the new file had the inode number of the old one.
    assert.throws(() => lastFile.isSame(file), UnusableDatabase)
    assert.throws(() => lastFile.isSame('another number'), UnusableDatabase)
    renameSync(`${path}-wal`, `${path}-old-wal`)
    assert.equal(lastFile.isSame(file), false)
  })

  test('keeps the inode number of its WAL until another file is used', async t => {
    const { path, lastFile } = await start(t)
    rmSync(`${path}-wal`)
    // Several file systems give the number of a deleted file to the next one.
    writeFileSync(`${path}-wal`, '')
    assert.equal(lastFile.isSame('another number'), false)
  })
})
