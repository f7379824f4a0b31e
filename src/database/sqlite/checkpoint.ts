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
      database.exec(`pragma busy_timeout = ${READERS_TIMEOUT_MS}`)
      const result = database.prepare('pragma wal_checkpoint(truncate)').get()
      database.exec('pragma busy_timeout = 0')
      if (result?.busy !== 0) pausedUntil = performance.now() + PAUSE_MS
    },
  }
}
