// Copies the write-ahead log (WAL) to the database file. SQLite does that by itself after every 1,000 pages. This is for the
// cases in which that is not enough.

import { renameSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { type Lost, lostFile, type OpenedFile, type OpenedFiles } from './files.ts'

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

/** A WAL that was removed or replaced while it was open. */
export interface LostWal {
  /** For the operator. */
  readonly problem: string
  readonly isSaved: boolean
}

/**
 * Copies the WAL to the database, which SQLite can do as long as it has both open. Never throws. At the next start SQLite would
 * apply a file that took its place, so that file is moved aside.
 */
export function saveLostWal(
  connection: DatabaseSync | undefined,
  { database, wal }: OpenedFiles,
  lost: Lost,
): LostWal {
  const found = `${wal.path} was ${lost} while the service used it.`
  try {
    if (connection === undefined) throw new Error('the writer thread has not opened it')
    if (!truncateWal(connection)) throw new Error('another process is reading')
    const aside = moveAside(connection, wal)
    const moved = aside === undefined ? '' : ` The file in its place is ${aside} now.`
    const advice = 'No animal is added until the service is restarted, or the same file is back.'
    const problem = `${found} Its contents are saved in ${database.path}.${moved} ${advice}`
    return { problem, isSaved: true }
  } catch (error) {
    const notSaved = `Its contents are not saved yet (${(error as Error).message}).`
    const advice = 'Do not stop the service before the log says that they are.'
    return { problem: `${found} ${notSaved} ${advice}`, isSaved: false }
  }
}

/** Returns the new name of a file that took the place of the WAL, or undefined if there is none. */
function moveAside(connection: DatabaseSync, wal: OpenedFile): string | undefined {
  // No other process can begin to use that file meanwhile.
  connection.exec('begin immediate')
  try {
    if (lostFile(wal) !== 'replaced') return undefined
    const aside = `${wal.path}.not-applied-${new Date().toISOString().replaceAll(/[:.-]/g, '')}`
    renameSync(wal.path, aside)
    return aside
  } finally {
    connection.exec('rollback')
  }
}
