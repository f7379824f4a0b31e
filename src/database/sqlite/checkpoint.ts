// Keeps the write-ahead log (WAL) short. A checkpoint copies it to the database file, and SQLite restarts it with the next
// write if no reader uses it then. Under constant reads that may not happen, and the WAL would grow without limit.

import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { MEMORY } from './files.ts'
import type { ReadLock } from './read-lock.ts'
import { DatabaseLocked } from './result-codes.ts'
import { isWalIntact, LONG_WAL_FRAMES, type Wal } from './wal.ts'

/** From this size on, the checkpoint waits for readers and truncates the WAL. */
export const MAX_WAL_BYTES = 16 * 1024 * 1024

const READERS_TIMEOUT_MS = 100

/** The pause after a checkpoint that timed out, because a reader took longer. */
const PAUSE_MS = 2_000

/** Other processes renew their read locks at intervals, see write-transactions.ts. */
const COPY_TIMEOUT_MS = 1_500
const COPY_INTERVAL_MS = 20

export interface Connection {
  readonly database: DatabaseSync
  readonly wal: Wal
  readonly readLock: ReadLock | undefined
}

export interface Checkpoint {
  isDue(connection: Connection): boolean
  /** Returns false if it timed out. */
  run(connection: Connection): boolean
}

export function createCheckpoint(path: string): Checkpoint {
  let pausedUntil = 0

  function isTooLong({ fileBytes }: Wal): boolean {
    return performance.now() >= pausedUntil && fileBytes >= MAX_WAL_BYTES
  }

  return {
    isDue({ wal }) {
      return path !== MEMORY && (wal.size.frames - wal.size.copied >= LONG_WAL_FRAMES || isTooLong(wal))
    },

    run(connection) {
      if (!isTooLong(connection.wal)) {
        copyWal(connection)
        return true
      }
      requireIntact(connection.wal)
      connection.readLock?.release()
      const isTruncated = checkpoint(connection.database, 'truncate')
      if (!isTruncated) pausedUntil = performance.now() + PAUSE_MS
      connection.readLock?.renew()
      return isTruncated
    },
  }
}

/**
 * Copies the change that was stored last. Other processes may have to renew their read locks first. Gives up quietly,
 * because the change is in the WAL.
 */
export async function copyChange(current: () => Connection | undefined): Promise<void> {
  const deadline = performance.now() + COPY_TIMEOUT_MS
  const frames = current()?.wal.size.frames ?? 0
  try {
    for (let connection = current(); connection !== undefined; connection = current()) {
      copyWal(connection)
      const { size } = connection.wal
      const isCopied = size.copied >= frames || size.frames < frames
      if (isCopied || performance.now() > deadline) return
      await delay(COPY_INTERVAL_MS)
    }
  } catch {
    // The connection was closed, or the disk fails.
  }
}

/** Copies the part of the WAL that no reader needs. Returns whether the lock for checkpoints was granted. */
export function copyWal({ database, wal, readLock }: Connection): boolean {
  requireIntact(wal)
  const isGranted = database.prepare('pragma wal_checkpoint(passive)').get()?.busy === 0
  // If the system refuses locks, renewing may block this thread for 10 seconds, and lose the lock that is held.
  if (isGranted) readLock?.renew()
  return isGranted
}

/** A checkpoint does not verify what it copies. */
function requireIntact(wal: Wal): void {
  if (!isWalIntact(wal)) throw new DatabaseLocked('the write-ahead log is gone or damaged')
}

/** Copies the WAL to the database file. Returns false if a reader still used the WAL when the time was up. */
export function checkpoint(database: DatabaseSync, mode: 'full' | 'truncate'): boolean {
  database.exec(`pragma busy_timeout = ${READERS_TIMEOUT_MS}`)
  try {
    return database.prepare(`pragma wal_checkpoint(${mode})`).get()?.busy === 0
  } finally {
    database.exec('pragma busy_timeout = 0')
  }
}
