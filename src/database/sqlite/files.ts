// The files of a database: their names, and which file a name leads to.

import { type Stats, statSync } from 'node:fs'

/** The path of a database in memory. */
export const MEMORY = ':memory:'

const WAL_SUFFIX = '-wal'
const INDEX_SUFFIX = '-shm'

/** What SQLite appends to the path of a database to name the files next to it. */
export const SIDE_FILES = [WAL_SUFFIX, INDEX_SUFFIX, '-journal']

/** Returns the device and inode that a path leads to now, or undefined if there is no file or it cannot be reached. */
export function fileIdentity(path: string): string | undefined {
  return path === MEMORY ? MEMORY : identityOf(fileStats(path))
}

export function identityOf(stats: Stats | undefined): string | undefined {
  return stats && `${stats.dev}:${stats.ino}`
}

export function fileStats(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** SQLite keeps the newest changes in the write-ahead log, which it finds by this name alone. */
export function walPath(path: string): string {
  return path + WAL_SUFFIX
}

/** The index of the WAL, which also contains the locks of all processes. */
export function indexPath(path: string): string {
  return path + INDEX_SUFFIX
}

export function fileSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
