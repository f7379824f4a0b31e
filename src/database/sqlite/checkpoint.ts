// Copies the write-ahead log (WAL) to the database file. SQLite does that by itself after every 1,000 pages. This is for the
// cases in which that is not enough.

import { renameSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { fileStats, walPath } from './files.ts'

/** Under constant reads SQLite may never restart the WAL. From this size on, the WAL is truncated. */
export const MAX_WAL_BYTES = 16 * 1024 * 1024

const READERS_TIMEOUT_MS = 100

/** Copies the whole WAL and empties it. Returns false if a reader still used it when the time was up. */
export function truncateWal(database: DatabaseSync): boolean {
  database.exec(`pragma busy_timeout = ${READERS_TIMEOUT_MS}`)
  try {
    return database.prepare('pragma wal_checkpoint(truncate)').get()?.busy === 0
  } finally {
    database.exec('pragma busy_timeout = 0')
  }
}

/**
 * Saves the contents of a WAL that was removed or replaced: this connection still has it open. At the next start SQLite would
 * apply a file that took its place, so that file is moved aside. Returns where to, if there is one. Throws if a reader still
 * uses the WAL.
 */
export function saveLostWal(database: DatabaseSync, path: string): string | undefined {
  if (!truncateWal(database)) throw new Error('another process is reading')
  // No other process can begin to use that file meanwhile.
  database.exec('begin immediate')
  try {
    if (fileStats(walPath(path)) === undefined) return undefined
    const aside = `${walPath(path)}.not-applied-${new Date().toISOString().replaceAll(/[:.-]/g, '')}`
    renameSync(walPath(path), aside)
    return aside
  } finally {
    database.exec('rollback')
  }
}
