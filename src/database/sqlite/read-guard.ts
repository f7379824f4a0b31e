// Decides whether the main thread may read. If the operating system refuses file locks, SQLite would block the thread for 10
// seconds. It needs no lock from the system if the writer thread has one on the same state (read-lock.ts).

import type { LockTest } from './lock-test.ts'
import { isLockedSize, type LockedSize, renewals } from './locked-size.ts'
import type { Wal } from './wal.ts'

export interface ReadGuard {
  /** Whether reading from a database with this write-ahead log cannot block. Must not be called in a transaction. */
  canRead(wal: Wal): boolean
  close(): void
}

/**
 * If both threads lock a state at the same time, SQLite may mark it twice, and later uses only one of the marks. The second
 * renewal from then on has begun afterwards, and therefore uses the same one.
 */
const RENEWALS_UNTIL_SHARED = 2

export function createReadGuard(locked: LockedSize, lockTest: LockTest): ReadGuard {
  let sharedFrom = 0

  function hasSharedLock(wal: Wal): boolean {
    const isLocked = wal.measure() && isLockedSize(locked, wal.size)
    const count = renewals(locked)
    if (!isLocked) sharedFrom = count + RENEWALS_UNTIL_SHARED
    // As int32, because the count overflows.
    return isLocked && ((count - sharedFrom) | 0) >= 0
  }

  return {
    canRead: wal => hasSharedLock(wal) || lockTest.isGranted(),
    close: lockTest.close,
  }
}
