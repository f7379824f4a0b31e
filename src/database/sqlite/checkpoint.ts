// Keeps the write-ahead log (WAL) short. A checkpoint copies it to the database file, and SQLite restarts it with the next
// write if no reader uses it then. Under constant reads that may not happen, and the WAL would grow without limit.

import type { DatabaseSync } from 'node:sqlite'
import { fileSize, MEMORY, walPath } from './files.ts'
import type { ReadLock } from './read-lock.ts'
import type { Wal } from './wal.ts'

/** When this many frames were not copied yet, they are copied. */
const MAX_FRAMES = 1_000

/** From this size on, the checkpoint waits for readers and truncates the WAL. */
export const MAX_WAL_BYTES = 16 * 1024 * 1024

const READERS_TIMEOUT_MS = 100

/** The pause after a checkpoint that timed out, because a reader took longer. */
const PAUSE_MS = 2_000

interface Connection {
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

  function isTooLong(): boolean {
    return performance.now() >= pausedUntil && fileSize(walPath(path)) >= MAX_WAL_BYTES
  }

  return {
    isDue({ wal }) {
      return path !== MEMORY && (wal.size.frames - wal.size.copied >= MAX_FRAMES || isTooLong())
    },

    run(connection) {
      if (!isTooLong()) {
        copyWal(connection)
        return true
      }
      connection.readLock?.release()
      const isTruncated = checkpoint(connection.database, 'truncate')
      if (!isTruncated) pausedUntil = performance.now() + PAUSE_MS
      connection.readLock?.renew()
      return isTruncated
    },
  }
}

/** Copies the part of the WAL that readers do not prevent. Returns whether the lock for checkpoints was granted. */
export function copyWal(connection: Connection): boolean {
  const { busy } = connection.database.prepare('pragma wal_checkpoint(passive)').get() as { busy: number }
  connection.readLock?.renew()
  return busy === 0
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
