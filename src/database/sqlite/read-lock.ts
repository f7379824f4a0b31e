// Holds a read lock on the newest state of the write-ahead log (WAL). The connections of a process share their locks, so the
// main thread can read without asking the operating system for a lock. If the system refuses it, SQLite asks again for 10
// seconds before it gives up, and blocks the thread.
//
// SQLite restarts the WAL only when no connection reads from it. So the lock is renewed after each change and each checkpoint:
// once the whole WAL is copied, a new lock is on the database file alone. If several processes write, one of them nearly
// always still has a lock on an older state, and the WAL would never be copied completely. So each process gives up its lock
// while the WAL is long and not completely copied.

import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { isLockedAt, type LockState, setLocked, setReleased } from './lock-state.ts'
import { createLockTest } from './lock-test.ts'
import { isLockTimeout } from './result-codes.ts'
import { LONG_WAL_FRAMES, type Wal, type WalSize } from './wal.ts'

export interface ReadLock {
  /** Called after each change and each checkpoint by this process. Never throws, because the change is already stored. */
  renew(): void
  /** Renews the lock if another process has changed the WAL, according to its last measured size. */
  renewIfChanged(): void
  /** Called at intervals. Renews the lock, and returns whether it was missing and the system has granted it. */
  check(): boolean
  /** Whether the system has refused the lock lately. It may have refused to release an older one, too. */
  isRefused(): boolean
  /** Whether the system grants locks at this moment, as far as that can be tested. */
  canLock(): boolean
  /** Whether this process does without the lock, because others write and the WAL is long and not completely copied. */
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

/** Keeps `state`, if there is one, up to date for the main thread. */
export function createReadLock(path: string, wal: Wal, state?: LockState): ReadLock {
  const lockTest = state && createLockTest(path)
  let holder: Connection | undefined
  let spare: Connection | undefined
  let seen: WalSize | undefined
  let othersWriteUntil = 0
  let pausedUntil = 0
  let refusedUntil = 0

  /** Renews the lock or gives it up. Returns whether the newest state is locked. */
  function lock(): boolean {
    try {
      if (!isGivenUp()) return performance.now() >= pausedUntil && lockNewest()
      release()
    } catch (error) {
      // Without this lock, the reader asks for its own.
      closeConnections()
      pausedUntil = performance.now() + REFUSED_PAUSE_MS
      if (isLockTimeout(error)) refusedUntil = pausedUntil
    }
    return false
  }

  /** The older lock is released only afterwards, so that the main thread always has one to share. */
  function lockNewest(): boolean {
    // Both at the first lock: later there may be no file descriptor left.
    holder ??= connect(path)
    spare ??= connect(path)
    spare.begin.run()
    spare.read.get()
    if (isHeld()) holder.rollback.run()
    ;[holder, spare] = [spare, holder]
    report()
    return true
  }

  /**
   * To lock a new state, SQLite marks it first. If the system refuses that, SQLite uses the mark of an older state, and another
   * process may mark the new one later. Then the main thread could not share this lock.
   */
  function report(): void {
    if (state === undefined) return
    const isMarked = isLockedAt(state, wal.size) || lockTest?.isGranted() === true
    if (isMarked) setLocked(state, wal.size, doOthersWrite())
    else setReleased(state)
  }

  function isGivenUp(): boolean {
    const { frames, copied } = wal.size
    return doOthersWrite() && frames >= LONG_WAL_FRAMES && copied < frames
  }

  function doOthersWrite(): boolean {
    return performance.now() < othersWriteUntil
  }

  function release(): void {
    if (!isHeld()) return
    if (state !== undefined) setReleased(state)
    holder?.rollback.run()
  }

  function isHeld(): boolean {
    return holder?.database.isTransaction === true
  }

  function closeConnections(): void {
    if (state !== undefined) setReleased(state)
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

    // Renews even if nothing has changed. If the main thread begins to read during a renewal, two read marks may get the same
    // value. SQLite then uses the later one, and this lock may be on the earlier one.
    check() {
      isChangedByOthers()
      const wasHeld = isHeld()
      return lock() && !wasHeld
    },

    isRefused: () => performance.now() < refusedUntil,
    canLock: () => lockTest?.isGranted() !== false,
    isGivenUp,
    release,
    close() {
      closeConnections()
      lockTest?.close()
    },
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
