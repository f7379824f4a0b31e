// The files of a database: their names, which file a name leads to, and who may read them.

import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  type Stats,
  statSync,
} from 'node:fs'
import type { Warn } from '../../store.ts'
import { PRIVATE_FILE } from '../new-file.ts'

/** The path of a database in memory. */
export const MEMORY = ':memory:'

/** What SQLite appends to the path of a database to name the files next to it. */
export const SIDE_FILES = ['-wal', '-shm', '-journal']

const PRIVATE_FOLDER = 0o700
const OTHERS = 0o077

/** SQLite keeps the newest changes in the write-ahead log (WAL), which it finds by this name alone. */
export function walPath(path: string): string {
  return `${path}-wal`
}

/** Returns undefined if there is no file or it cannot be reached. */
export function fileStats(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

export function fileSize(path: string): number {
  return fileStats(path)?.size ?? 0
}

/** While a file is open, no other file can have the same device and inode. */
export type FileIdentity = Pick<Stats, 'dev' | 'ino'>

/** The files that the service has opened. It uses no others, whatever their paths lead to later. */
export interface OpenedFiles {
  readonly path: string
  readonly database: FileIdentity
  readonly wal: FileIdentity
}

/** The database must have been read before: SQLite creates its WAL only then. */
export function identifyFiles(path: string): OpenedFiles {
  const [database, wal] = [path, walPath(path)].map(name => {
    const { dev, ino } = statSync(name)
    return { dev, ino }
  }) as [FileIdentity, FileIdentity]
  return { path, database, wal }
}

export type Lost = 'removed' | 'replaced'

/** Tells what has happened to an opened file, given the stats of its path now. Returns undefined if it is in place. */
export function lostFile(stats: Stats | undefined, { dev, ino }: FileIdentity): Lost | undefined {
  if (stats === undefined) return 'removed'
  return stats.ino === ino && stats.dev === dev ? undefined : 'replaced'
}

export function isSameFile(first: string, second: string): boolean {
  const stats = fileStats(second)
  return stats !== undefined && lostFile(fileStats(first), stats) === undefined
}

/** Whether a file or a folder may be written. Checks the mode too: root may write to everything, whatever its mode says. */
export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return (statSync(path).mode & 0o222) !== 0
  } catch {
    return false
  }
}

/** Creates a folder, and those above it, unless it exists. */
export function createFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER })
}

/** SQLite gives the `-wal` and `-shm` files the same mode. */
export function createFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', PRIVATE_FILE))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Takes away the permissions of other users on an existing database, and says so. */
export function restrictFiles(path: string, warn: Warn): void {
  for (const suffix of ['', '-wal', '-shm']) restrict(path + suffix, PRIVATE_FILE, warn)
}

export function restrictFolder(path: string, warn: Warn): void {
  restrict(path, PRIVATE_FOLDER, warn)
}

function restrict(path: string, mode: number, warn: Warn): void {
  const stats = fileStats(path)
  // Windows has no such modes.
  if (stats === undefined || (stats.mode & OTHERS) === 0 || process.platform === 'win32') return
  const octal = mode.toString(8).padStart(4, '0')
  try {
    chmodSync(path, mode)
    warn(`Other users had access to ${path}. Its mode is ${octal} now.`)
  } catch {
    warn(
      `Other users have access to ${path}, and its mode cannot be changed. Its owner should set it to ${octal}.`,
    )
  }
}
