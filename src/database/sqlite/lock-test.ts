// Tests whether the operating system grants file locks in the folder of the database, without blocking the thread (3 µs).
//
// If the system refuses a read lock on a database with a write-ahead log, SQLite asks again for 10 seconds. On any other
// database it asks once. So this locks an empty database, whose file is deleted as soon as it is open.

import { rmSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { createFile } from './permissions.ts'

/** After a failure, the same is returned for this long. */
const PAUSE_MS = 100

export interface LockTest {
  /** True as well if that cannot be tested, for example because no file can be created. */
  isGranted(): boolean
  close(): void
}

export function createLockTest(path: string): LockTest {
  const file = `${path}-lock-test`
  let database: DatabaseSync | undefined
  let read: StatementSync | undefined
  let lastResult = true
  let pausedUntil = 0

  function tryOpen(): void {
    try {
      // It may have been left by a process that was killed, or be a link that somebody has planted.
      rmSync(file, { force: true })
      createFile(file)
      database = new DatabaseSync(file, { timeout: 0 })
      rmSync(file, { force: true })
    } catch {
      // There may be no file descriptor left. Windows does not delete an open file.
    }
  }

  function canLock(opened: DatabaseSync): boolean {
    try {
      read ??= opened.prepare('select 1 from sqlite_schema')
      read.get()
      return true
    } catch {
      // The next test uses a new file: the folder may be on another file system by then.
      close()
      return false
    }
  }

  function close(): void {
    database?.close()
    database = undefined
    read = undefined
  }

  // Now, because later there may be no file descriptor left.
  tryOpen()

  return {
    isGranted() {
      if (performance.now() < pausedUntil) return lastResult
      if (database === undefined) tryOpen()
      lastResult = database === undefined || canLock(database)
      if (database === undefined) pausedUntil = performance.now() + PAUSE_MS
      return lastResult
    },
    close,
  }
}
