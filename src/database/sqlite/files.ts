// The files of a database: their names, which file a name leads to, and who may read them.

import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { UnusableDatabase, type Warn } from '../../store.ts'
import { describeSystemError } from '../../system-error.ts'
import { PRIVATE_FILE } from '../new-file.ts'

/** The path of a database in memory. */
export const MEMORY = ':memory:'

/** What SQLite appends to the path of a database to name the files next to it. */
export const SIDE_FILES = ['-wal', '-shm', '-journal']

/** The WAL is truncated from this size on. */
export const MAX_WAL_BYTES = 16 * 1024 * 1024

const PRIVATE_FOLDER = 0o700
const OTHERS = 0o077

/** SQLite keeps the newest changes in the write-ahead log (WAL), which it finds by this name alone. */
export function walPath(path: string): string {
  return `${path}-wal`
}

/** For the name of a file that is moved aside. */
export function fileStamp(time: Date): string {
  return time.toISOString().replaceAll(/[:.-]/g, '')
}

/** Returns undefined if there is no file or it cannot be reached. */
export function fileStats(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Throws an UnusableDatabase if there is no file, or if it cannot be read. */
export function requireFile(path: string, what: 'database' | 'backup' = 'database'): Stats {
  let stats: Stats | undefined
  try {
    stats = statSync(path, { throwIfNoEntry: false })
    if (stats?.isFile()) accessSync(path, constants.R_OK)
  } catch (error) {
    throw new UnusableDatabase(`The ${what} ${path} cannot be opened: ${describeSystemError(error)}.`, {
      cause: error,
    })
  }
  if (stats === undefined) {
    const hint = 'Check --database-url and --environment, and the folder that you are in.'
    throw new UnusableDatabase(`There is no ${what} at ${path}.${what === 'database' ? ` ${hint}` : ''}`)
  }
  if (!stats.isFile()) throw new UnusableDatabase(`The ${what} ${path} is not a file.`)
  return stats
}

/** While a file is open, no other file can have the same device and inode. */
interface OpenedFile {
  readonly path: string
  readonly dev: number
  readonly ino: number
}

const FILES = ['database', 'wal', 'shm'] as const

/**
 * The files that the service has opened. It uses no others, whatever their paths lead to later. The `-shm` has the locks that
 * processes take, and finds their pages in the WAL.
 */
export type OpenedFiles = Readonly<Record<(typeof FILES)[number], OpenedFile>>

/** The database must have been read before: SQLite creates the others only then, beside the file itself if the path is a link. */
export function identifyFiles(path: string): OpenedFiles {
  const file = realpathSync(path)
  return { database: identify(path), wal: identify(walPath(file)), shm: identify(`${file}-shm`) }
}

function identify(path: string): OpenedFile {
  const { dev, ino } = statSync(path)
  return { path, dev, ino }
}

export interface LostFile {
  readonly file: keyof OpenedFiles
  readonly path: string
  readonly how: 'removed' | 'replaced'
}

/** Returns the files whose paths no longer lead to what was opened. A file that cannot be looked at is not lost. */
export function findLost(files: OpenedFiles): LostFile[] {
  return FILES.flatMap(file => {
    const { path, dev, ino } = files[file]
    try {
      const stats = statSync(path, { throwIfNoEntry: false })
      if (stats?.ino === ino && stats.dev === dev) return []
      return { file, path, how: stats === undefined ? 'removed' : 'replaced' }
    } catch {
      return []
    }
  })
}

export function isSameFile(first: string, second: string): boolean {
  const [one, other] = [fileStats(first), fileStats(second)]
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev
}

/** Whether another process of this user has the file open. Only Linux tells; elsewhere the answer is no. */
export function isOpenElsewhere(path: string): boolean {
  if (fileStats(path) === undefined) return false
  const others = namesIn('/proc').filter(name => /^\d+$/.test(name) && name !== String(process.pid))
  return others.some(pid => {
    const folder = join('/proc', pid, 'fd')
    return namesIn(folder).some(descriptor => isSameFile(join(folder, descriptor), path))
  })
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Whether a file may be written. Checks the mode too: root may write to everything, whatever its mode says. */
export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return (statSync(path).mode & 0o222) !== 0
  } catch {
    return false
  }
}

/** Creates the folder of a file, and those above it, unless it exists. */
export function createFolderOf(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_FOLDER })
}

/** Creates an empty database with its folder. SQLite gives the `-wal` and `-shm` files the same mode. */
export function createFile(path: string): void {
  let what = 'folder of the database'
  try {
    createFolderOf(path)
    what = 'database'
    closeSync(openSync(path, 'wx', PRIVATE_FILE))
  } catch (error) {
    // Several processes may start at the same time.
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && what === 'database') return
    throw new UnusableDatabase(`The ${what} ${path} cannot be created: ${describeSystemError(error)}.`, {
      cause: error,
    })
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
