// Holds a read lock on the write-ahead log (WAL) while nothing is written. The connections of a process share their locks,
// so the main thread can read without asking the operating system for a lock. If the system refuses it, SQLite asks again
// for 10 seconds before it gives up, and blocks the thread.
//
// SQLite cannot restart the WAL while somebody holds a lock on an older state. So the lock is renewed after each change by
// this process, and released while other processes write.

import { DatabaseSync } from 'node:sqlite'
import type { Wal } from './wal.ts'

export interface ReadLock {
  /** Called after each change by this process. Never throws, because the change is stored already. */
  renew(): void
  /** Releases the lock if another process has written since the last call of `renew` or `check`. Needs the WAL measured. */
  check(): void
  /** The same, and if no other process has written since, locks again. */
  checkAndLock(): void
  release(): void
  close(): void
}

export function openReadLock(path: string, wal: Wal): ReadLock {
  // A read-only connection never copies the WAL to the database file, not even when it closes last.
  const database = new DatabaseSync(path, { readOnly: true, timeout: 0 })
  const read = database.prepare('select 1 from sqlite_schema')
  const begin = database.prepare('begin')
  const rollback = database.prepare('rollback')
  wal.measure()
  let seen = wal.size
  let isShared = false

  function lock(): void {
    try {
      release()
      begin.run()
      read.get()
    } catch {
      // The next call tries again. Until then the reader asks for its own locks.
      release()
    }
  }

  function release(): void {
    if (database.isTransaction) rollback.run()
  }

  function hasChanged(): boolean {
    return wal.size.frames !== seen.frames || wal.size.copied !== seen.copied
  }

  function check(): void {
    if (!hasChanged()) return
    seen = wal.size
    isShared = true
    release()
  }

  return {
    renew() {
      if (!isShared) lock()
      try {
        wal.measure()
      } catch {
        // The next check takes the change for one by another process.
      }
      seen = wal.size
    },

    check,

    checkAndLock() {
      isShared = hasChanged()
      check()
      if (!isShared && !database.isTransaction) lock()
    },

    release,
    close: () => database.close(),
  }
}
