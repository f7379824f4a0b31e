// Decides whether the main thread may read. If the operating system refuses file locks, SQLite would block the thread for 10
// seconds. It needs no lock from the system if the writer thread has one on the same state (read-lock.ts).

import { doOthersWrite, isLockedAt, type LockState, renewals } from './lock-state.ts'
import type { LockTest } from './lock-test.ts'
import type { Wal } from './wal.ts'

export interface ReadGuard {
  /**
   * Whether the main thread can begin to read now, without the risk of blocking, from the database with this write-ahead log.
   * Must not be called in a transaction.
   */
  canRead(wal: Wal): boolean
  /** Closes the file of the lock test. The next call opens a new one. */
  close(): void
}

/**
 * If the system grants a lock to the main thread, the writer thread may have its lock on an older mark of the same state. The
 * second renewal from then on has begun afterwards, and uses the mark that SQLite would choose for the main thread.
 */
const RENEWALS_UNTIL_SHARED = 2

export function createReadGuard(state: LockState, lockTest: LockTest): ReadGuard {
  let sharedFrom = renewals(state)

  function isShared(wal: Wal): boolean {
    const isConfirmed = ((renewals(state) - sharedFrom) | 0) >= 0
    return isConfirmed && wal.measure() && isLockedAt(state, wal.size)
  }

  function isGranted(): boolean {
    if (!lockTest.isGranted()) return false
    sharedFrom = renewals(state) + RENEWALS_UNTIL_SHARED
    return true
  }

  return {
    // SQLite has only four marks for all processes. If others write, there may have been none left for the newest state, and the
    // lock is on the mark of an older one. A lock that was renewed while the system refused locks is not.
    canRead: wal => (!doOthersWrite(state) && isShared(wal)) || isGranted() || isShared(wal),
    close: lockTest.close,
  }
}
