// Holds a read lock on the write-ahead log (WAL) while nothing is written. The connections of a process share their locks,
// so the main thread can read without asking the operating system for a lock. If the system refuses it, SQLite asks again
// for 10 seconds before it gives up, and blocks the thread.
//
// SQLite cannot restart the WAL while somebody holds a lock on an older state. So the lock is renewed after each change by
// this process. When another process has written, it is released at the next check, and not taken for a while.

import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Wal, WalSize } from './wal.ts'

export interface ReadLock {
  /** Called after each change by this process. Never throws, because the change is stored already. */
  renew(): void
  /** Releases the lock if another process has changed the WAL, according to its last measured size. */
  releaseIfChanged(): void
  /** Releases the lock in the same case, and otherwise locks. Returns whether the system has granted a new lock. */
  lockUnlessChanged(): boolean
  release(): void
  close(): void
}

/** How long other processes can run checkpoints undisturbed after one of them has written. */
const SHARED_PAUSE_MS = 60_000

/** As long as SQLite asks for a refused lock, so that writes get their turn. */
const REFUSED_PAUSE_MS = 10_000

interface Connection {
  readonly database: DatabaseSync
  readonly begin: StatementSync
  readonly read: StatementSync
  readonly rollback: StatementSync
}

export function createReadLock(path: string, wal: Wal): ReadLock {
  let connection: Connection | undefined
  let seen: WalSize | undefined
  let pausedUntil = 0

  function lock(): boolean {
    if (performance.now() < pausedUntil) return false
    try {
      connection ??= connect(path)
      release()
      connection.begin.run()
      connection.read.get()
      return true
    } catch {
      // Without this lock, the reader asks for its own.
      close()
      pausedUntil = performance.now() + REFUSED_PAUSE_MS
      return false
    }
  }

  function release(): void {
    if (connection?.database.isTransaction) connection.rollback.run()
  }

  function close(): void {
    connection?.database.close()
    connection = undefined
  }

  function releaseIfChanged(): void {
    const { frames, copied } = wal.size
    if (seen !== undefined && (frames !== seen.frames || copied !== seen.copied)) {
      pausedUntil = performance.now() + SHARED_PAUSE_MS
      release()
    }
    seen = wal.size
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

    releaseIfChanged,

    lockUnlessChanged() {
      releaseIfChanged()
      return !connection?.database.isTransaction && lock()
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
