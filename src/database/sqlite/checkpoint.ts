// Keeps the write-ahead log (WAL) short. SQLite restarts the WAL after a checkpoint only when no reader uses it. Under
// constant reads that never happens, and the WAL would grow without limit.

import type { DatabaseSync } from 'node:sqlite'
import { fileSize, MEMORY, walPath } from './files.ts'

/** From this size on, the checkpoint waits for readers and truncates the WAL. */
export const MAX_WAL_BYTES = 16 * 1024 * 1024

const READERS_TIMEOUT_MS = 100

/** The pause after a checkpoint that timed out, because a reader took longer. */
const PAUSE_MS = 2_000

export interface Checkpoint {
  isDue(): boolean
  run(database: DatabaseSync): void
}

export function createCheckpoint(path: string): Checkpoint {
  let pausedUntil = 0

  return {
    isDue() {
      return path !== MEMORY && performance.now() >= pausedUntil && fileSize(walPath(path)) >= MAX_WAL_BYTES
    },

    run(database) {
      if (!checkpoint(database, 'truncate')) pausedUntil = performance.now() + PAUSE_MS
    },
  }
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
