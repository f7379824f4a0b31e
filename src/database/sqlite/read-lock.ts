// Holds a read lock on the write-ahead log (WAL) while nothing is written. The connections of a process share their locks,
// so the main thread can read without asking the operating system for a lock. If the system refuses it, SQLite asks again
// for 10 seconds before it gives up, and blocks the thread.
//
// SQLite cannot restart the WAL while somebody holds a lock on an older state. So the lock is renewed after each change. If
// other processes write too, one of them always holds such a lock, so all release theirs when the WAL has become long.

import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { LONG_WAL_FRAMES, type Wal, type WalSize } from './wal.ts'

export interface ReadLock {
  /** Called after each change by this process. Never throws, because the change is stored already. */
  renew(): void
  /** Renews the lock if another process has changed the WAL, according to its last measured size. */
  renewIfChanged(): void
  /** Does the same, and locks if no lock is held. Returns whether the system has granted a lock that was missing. */
  renewOrLock(): boolean
  release(): void
  close(): void
}

/** How long a long WAL is left to other processes after one of them has written. */
const SHARED_MS = 60_000

/** As long as SQLite asks for a refused lock, so that writes get their turn. */
const REFUSED_PAUSE_MS = 10_000

interface Connection {
  readonly database: DatabaseSync
  readonly begin: StatementSync
  readonly read: StatementSync
  readonly rollback: StatementSync
}

export function createReadLock(path: string, wal: Wal): ReadLock {
  let holder: Connection | undefined
  let spare: Connection | undefined
  let seen: WalSize | undefined
  let sharedUntil = 0
  let pausedUntil = 0

  /** Locks the newest state before it releases an older one, so that the main thread always has a lock to share. */
  function lock(): boolean {
    const now = performance.now()
    if (now < sharedUntil && wal.size.frames >= LONG_WAL_FRAMES) release()
    else if (now >= pausedUntil) return lockNewest()
    return false
  }

  function lockNewest(): boolean {
    try {
      spare ??= connect(path)
      spare.begin.run()
      spare.read.get()
      release()
      ;[holder, spare] = [spare, holder]
      return true
    } catch {
      // Without this lock, the reader asks for its own.
      close()
      pausedUntil = performance.now() + REFUSED_PAUSE_MS
      return false
    }
  }

  function release(): void {
    if (isHeld()) holder?.rollback.run()
  }

  function isHeld(): boolean {
    return holder?.database.isTransaction === true
  }

  function close(): void {
    holder?.database.close()
    spare?.database.close()
    holder = undefined
    spare = undefined
  }

  function renewIfChanged(): void {
    const { frames, copied } = wal.size
    const isChanged = seen !== undefined && (frames !== seen.frames || copied !== seen.copied)
    seen = wal.size
    if (!isChanged) return
    sharedUntil = performance.now() + SHARED_MS
    lock()
  }

  return {
    renew() {
      try {
        // Before locking: if another process writes between the two, the next check notices.
        wal.measure()
      } catch {
        // The next check takes this change for one by another process.
      }
      seen = wal.size
      lock()
    },

    renewIfChanged,

    renewOrLock() {
      const wasHeld = isHeld()
      renewIfChanged()
      return !wasHeld && (isHeld() || lock())
    },

    release,
    close,
  }
}

/** A read-only connection never copies the WAL to the database file, not even when it closes last. */
function connect(path: string): Connection {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 0 })
  try {
    return {
      database,
      begin: database.prepare('begin'),
      read: database.prepare('select 1 from sqlite_schema'),
      rollback: database.prepare('rollback'),
    }
  } catch (error) {
    database.close()
    throw error
  }
}
