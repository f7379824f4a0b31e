// Notices a lock that SQLite keeps for ever, because the operating system refused to release it: writes or checkpoints wait
// for it in vain, although the system grants locks again. Only closing all connections of the process helps.

import type { DatabaseSync } from 'node:sqlite'
import { type Connection, copyWal } from './checkpoint.ts'

/** If another process has the lock, closing does not help. */
const PAUSE_MS = 10_000

export interface StuckLocks {
  /** A lock may be stuck: a write, a read or a checkpoint has waited for one in vain, or the WAL is very long. */
  suspect(): void
  /** The system has granted a lock. */
  onGranted(): void
  /** Whether the caller should test if the system grants locks again, and call `onGranted` if so. */
  shouldTestLocks(): boolean
  /** Whether all connections should be closed. Returns true at most once in 10 seconds, and suspects nothing after that. */
  takeDecision(): boolean
}

export function createStuckLocks(): StuckLocks {
  let isSuspected = false
  let isGranted = false
  let pausedUntil = 0

  function canDecide(): boolean {
    return isSuspected && performance.now() >= pausedUntil
  }

  return {
    suspect() {
      if (isSuspected) return
      isSuspected = true
      isGranted = false
    },

    onGranted() {
      isGranted = true
    },

    shouldTestLocks: () => canDecide() && !isGranted,

    takeDecision() {
      if (!canDecide() || !isGranted) return false
      isSuspected = false
      pausedUntil = performance.now() + PAUSE_MS
      return true
    },
  }
}

/** Whether the system grants locks. Tests two different ones, because one of them may be stuck. */
export function grantsLocks(connection: Connection): boolean {
  if (copyWal(connection)) return true
  // To write, SQLite needs a read lock first. If the system refuses it, that blocks this thread for 10 seconds.
  return !connection.readLock?.isRefused() && canLockForWriting(connection.database)
}

function canLockForWriting(database: DatabaseSync): boolean {
  try {
    database.exec('begin immediate')
    database.exec('rollback')
    return true
  } catch {
    return false
  }
}
