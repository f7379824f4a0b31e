// Holds a read lock on the newest state of the write-ahead log (WAL). The connections of a process share their locks, so the
// main thread can read without asking the operating system for a lock. If the system refuses it, SQLite asks again for 10
// seconds before it gives up, and blocks the thread.
//
// SQLite restarts the WAL only if nobody reads from it. So the lock is renewed after each change and each checkpoint: once
// everything is in the database file, the new lock does not use the WAL. While several processes write, one of them nearly
// always has an older lock. So each gives up its lock while the WAL is long and not copied.

import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { LONG_WAL_FRAMES, type Wal, type WalSize } from './wal.ts'

export interface ReadLock {
  /** Called after each change by this process. Never throws, because the change is stored already. */
  renew(): void
  /** Renews the lock if another process has changed the WAL, according to its last measured size. */
  renewIfChanged(): void
  /** Called at intervals. Renews the lock, and returns whether it was missing and the system has granted it. */
  check(): boolean
  /** Whether there is no lock until the WAL is copied to the database file. */
  isGivenUp(): boolean
  release(): void
  close(): void
}

/** After a change by another process, others count as writing for this long. */
const OTHERS_WRITE_MS = 60_000

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
  let othersWriteUntil = 0
  let pausedUntil = 0

  /** Renews the lock or gives it up. Returns whether the newest state is locked. */
  function lock(): boolean {
    try {
      if (!isGivenUp()) return performance.now() >= pausedUntil && lockNewest()
      release()
    } catch {
      // Without this lock, the reader asks for its own.
      close()
      pausedUntil = performance.now() + REFUSED_PAUSE_MS
    }
    return false
  }

  /** Releases the older lock only after that, so that the main thread always has one to share. */
  function lockNewest(): boolean {
    // Both at the first lock: later there may be no file descriptor left.
    holder ??= connect(path)
    spare ??= connect(path)
    spare.begin.run()
    spare.read.get()
    release()
    ;[holder, spare] = [spare, holder]
    return true
  }

  function isGivenUp(): boolean {
    const { frames, copied } = wal.size
    return performance.now() < othersWriteUntil && frames >= LONG_WAL_FRAMES && copied < frames
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

  function isChangedByOthers(): boolean {
    const { frames, copied } = wal.size
    const isChanged = seen !== undefined && (frames !== seen.frames || copied !== seen.copied)
    if (isChanged) othersWriteUntil = performance.now() + OTHERS_WRITE_MS
    seen = wal.size
    return isChanged
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

    renewIfChanged() {
      if (isChangedByOthers()) lock()
    },

    // Even if nothing has changed: if the main thread reads during a renewal, the two may lock different copies of the same
    // state, and its next read may need the other one.
    check() {
      isChangedByOthers()
      const wasHeld = isHeld()
      return lock() && !wasHeld
    },

    isGivenUp,
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
