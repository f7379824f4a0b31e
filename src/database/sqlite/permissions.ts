// Who may read the database: only the user of the service. A folder belongs to the service only if the service has
// created it, or if it is the default folder.

import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Warn } from '../../store.ts'
import { PRIVATE_FILE } from '../new-file.ts'
import { fileStats, indexPath, walPath } from './files.ts'

const PRIVATE_FOLDER = 0o700
const OTHERS = 0o077

/** Creates a folder, and those above it. `mkdirSync` with `recursive` would never return for a path below /proc. */
export function createFolder(path: string): void {
  if (fileStats(path)?.isDirectory()) return
  createFolder(dirname(path))
  try {
    mkdirSync(path, { mode: PRIVATE_FOLDER })
  } catch (error) {
    // Several processes may start at the same time.
    if (!fileStats(path)?.isDirectory()) throw error
  }
}

/** SQLite gives the `-wal` and `-shm` files the same mode. */
export function createFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', PRIVATE_FILE))
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

/** Takes away the permissions of other users on an existing database, and says so. */
export function restrictFiles(path: string, warn: Warn): void {
  for (const file of [path, walPath(path), indexPath(path)]) restrict(file, PRIVATE_FILE, warn)
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

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}
