// Tests whether the operating system grants file locks in the folder of the database, without blocking the thread (3 µs).
//
// If the system refuses a read lock on a database with a write-ahead log, SQLite asks again for 10 seconds. On any other
// database it asks once. So this locks an empty database, whose file is deleted as soon as it is open.

import { rmSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { createFile } from './permissions.ts'
import { isLockRefused } from './result-codes.ts'

/** After a failure, the result is reused for this long. */
const PAUSE_MS = 100

export interface LockTest {
  /** True as well if that cannot be tested, for example because no file can be created. */
  isGranted(): boolean
  /** The next test opens a new file. */
  close(): void
}

export function createLockTest(path: string): LockTest {
  const file = `${path}-lock-test`
  let database: DatabaseSync | undefined
  let read: StatementSync | undefined
  let isRefused = false
  let pausedUntil = 0

  /** Throws if a lock is refused, or if that cannot be tested. */
  function lock(): void {
    database ??= open()
    read ??= database.prepare('select 1 from sqlite_schema')
    read.get()
  }

  function open(): DatabaseSync {
    // It may have been left by a process that was killed, or be a link that somebody has planted.
    rmSync(file, { force: true })
    createFile(file)
    try {
      return new DatabaseSync(file, { timeout: 0 })
    } finally {
      removeFile()
    }
  }

  function removeFile(): void {
    try {
      rmSync(file, { force: true })
    } catch {
      // Windows does not delete an open file.
    }
  }

  function close(): void {
    if (database === undefined) return
    database.close()
    database = undefined
    read = undefined
    removeFile()
  }

  function isGranted(): boolean {
    if (performance.now() < pausedUntil) return !isRefused
    try {
      lock()
      return true
    } catch (error) {
      isRefused = isLockRefused(error)
      // After a refusal the file stays open, because it may not be possible to create a new one.
      if (!isRefused) close()
      pausedUntil = performance.now() + PAUSE_MS
      return !isRefused
    }
  }

  // Opens the file now, because later there may be no file descriptor left.
  isGranted()
  return { isGranted, close }
}
