// `backup` copies a database file while other processes use it. `restore` replaces a database file by such a copy: if the
// process is killed at any moment, the path leads to the complete old or the complete new database, provided that the file
// system has links.

import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { chmod, copyFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { UnusableDatabase } from '../../store.ts'
import { throwIfInterrupted } from '../copy-database.ts'
import { inPrivateFolder, isLinkUnsupported, PRIVATE_FILE, publish } from '../new-file.ts'
import { findSchemaProblem, isEmpty } from './connection.ts'
import { isDamaged, isLocked } from './errors.ts'
import {
  createFolderOf,
  fileStamp,
  fileStats,
  isOpenElsewhere,
  isSameFile,
  requireFile,
  SIDE_FILES,
  walPath,
} from './files.ts'
import { LOCK_TIMEOUT_MS } from './locks.ts'
import { schemaVersion } from './migrate.ts'

/** About 8 MiB per step: small enough for a progress bar, and large enough that the steps cost nothing. */
const PAGES_PER_STEP = 2_000

interface CopyProgress {
  readonly bytes: number
  /** The part that is done, from 0 to 1. */
  readonly share: number
}

export interface Copied {
  readonly animals: bigint
  readonly bytes: number
}

/** Writes a verified copy to a new file, unless the signal is aborted. */
export async function backUp(
  path: string,
  file: string,
  signal: AbortSignal,
  onProgress: (progress: CopyProgress) => void,
): Promise<Copied> {
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined)
    throw new UnusableDatabase(`${file} already exists. A backup does not replace a file.`)
  requireFile(path)
  return inPrivateFolder(file, async copy => {
    await copyOnline(path, copy, progress => {
      signal.throwIfAborted()
      onProgress(progress)
    })
    const copied = verifyCopy(path, copy)
    await throwIfInterrupted(signal)
    publish(copy, file)
    syncFolder(dirname(resolve(file)))
    return copied
  })
}

/** Copies the database as it is at one moment. Migrates nothing. */
async function copyOnline(
  path: string,
  copy: string,
  onProgress: (progress: CopyProgress) => void,
): Promise<void> {
  // SQLite would give the copy another mode.
  closeSync(openSync(copy, 'wx', PRIVATE_FILE))
  // Writable, so that SQLite removes its side files at the end. An absolute path is never mistaken for a URI.
  const source = new DatabaseSync(resolve(path), { timeout: LOCK_TIMEOUT_MS })
  try {
    // One read transaction for all steps. Otherwise the copy would start again with every change by another process.
    source.exec('begin')
    schemaVersion(source)
    const pageSize = Number(source.prepare('pragma page_size').get()?.page_size)
    await backup(source, copy, {
      rate: PAGES_PER_STEP,
      progress: ({ totalPages, remainingPages }) => {
        const pages = totalPages - remainingPages
        onProgress({ bytes: pages * pageSize, share: pages / totalPages })
      },
    })
  } finally {
    source.close()
  }
}

/** Checks every row of the copy of `path`, and makes sure that the copy is on disk. */
function verifyCopy(path: string, copy: string): Copied {
  const database = new DatabaseSync(copy)
  let animals: bigint
  try {
    const problem = isEmpty(database)
      ? 'has no tables'
      : (findSchemaProblem(database) ?? findDamage(database))
    if (problem !== undefined) throw new UnusableDatabase(`The database ${path} ${problem}.`)
    // A database in WAL mode cannot be opened in a read-only folder.
    database.exec('pragma journal_mode = delete')
    const count = database.prepare('select count(*) from animals')
    count.setReadBigInts(true)
    animals = Object.values(count.get() ?? {})[0] as bigint
  } finally {
    database.close()
  }
  // Windows writes a file to disk only for those who may change it.
  sync(copy, 'r+')
  return { animals, bytes: statSync(copy).size }
}

/** Reads everything, and compares the indexes with the rows. Returns the problem in the same form as `findSchemaProblem`. */
function findDamage(database: DatabaseSync): string | undefined {
  const result = String(database.prepare('pragma integrity_check(1)').get()?.integrity_check)
  if (result === 'ok') return undefined
  const [damage] = result.replace(/^\*\*\* in database main \*\*\*\s*/, '').split('\n', 1)
  return `is corrupt (${damage})`
}

/** Makes new, renamed and deleted names survive a power failure. */
function syncFolder(folder: string): void {
  // Windows cannot do that.
  if (process.platform !== 'win32') sync(folder, 'r')
}

function sync(path: string, flags: 'r' | 'r+'): void {
  const descriptor = openSync(path, flags)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

export interface Restored extends Copied {
  /** Where the old database is now. Undefined if there was none. */
  readonly oldDatabase: string | undefined
}

/**
 * Verifies a copy of the backup and puts it in place of the database, which no process may have open. Changes nothing if
 * the signal is aborted.
 */
export async function restore(file: string, path: string, now: Date, signal: AbortSignal): Promise<Restored> {
  requireFile(file, 'backup')
  const target = existsSync(path) ? realpathSync(path) : resolve(path)
  if (isSameFile(file, target)) throw new UnusableDatabase(`${file} is the database itself.`)
  requireComplete(file)
  // Also checked before the copy, because a copy may take minutes.
  if (isOpenElsewhere(target)) throw inUse(target)
  // A backup that is refused must not leave a new folder behind.
  let folder = dirname(target)
  while (!existsSync(folder)) folder = dirname(folder)
  return inPrivateFolder(join(folder, basename(target)), async copy => {
    await copyFile(file, copy)
    await chmod(copy, PRIVATE_FILE)
    const copied = verifyCopy(file, copy)
    await throwIfInterrupted(signal)
    createFolderOf(target)
    return { ...copied, oldDatabase: replace(target, copy, now) }
  })
}

/** A backup consists of one file. SQLite would apply whatever changes another user has put beside it. */
function requireComplete(file: string): void {
  const beside = ['-wal', '-journal'].map(suffix => realpathSync(file) + suffix)
  const found = beside.find(name => Number(fileStats(name)?.size) > 0)
  if (found === undefined) return
  throw new UnusableDatabase(
    `${found} is not empty, but a backup is one file. Delete it if it is stale or not yours. ` +
      `Otherwise run animal-store backup NEW --database-url sqlite:${file} and restore NEW.`,
  )
}

/** Moves the old database aside and the new one in its place. Returns the new name of the old one. */
function replace(target: string, restored: string, now: Date): string | undefined {
  const lock = lockUnused(target)
  try {
    const aside = `${target}.before-restore-${fileStamp(now)}`
    // Side files are left only if SQLite cannot read the database. All files are linked before any is removed, so that
    // nothing is lost at any step.
    const present = ['', ...SIDE_FILES].filter(suffix =>
      lstatSync(target + suffix, { throwIfNoEntry: false }),
    )
    for (const suffix of present) linkOrMove(target + suffix, aside + suffix)
    syncFolder(dirname(target))
    // SQLite would apply the old WAL to the new file, and corrupt it.
    for (const suffix of present) if (suffix !== '') rmSync(target + suffix, { force: true })
    renameSync(restored, target)
    syncFolder(dirname(target))
    return present.length === 0 ? undefined : aside
  } finally {
    lock?.close()
  }
}

/** Without links, the path leads to no database until the new one is in place. */
function linkOrMove(file: string, aside: string): void {
  try {
    linkSync(file, aside)
  } catch (error) {
    if (!isLinkUnsupported(error)) throw error
    renameSync(file, aside)
  }
}

/**
 * Makes sure that no process has the database open, and returns a connection that keeps others out. SQLite leaves WAL
 * mode only if no other connection exists. Then the newest changes are in the file itself. Returns undefined if there is
 * no database, or only a damaged file.
 */
function lockUnused(path: string): DatabaseSync | undefined {
  if (!existsSync(path)) return undefined
  // Also finds a connection that has not read anything yet, and one to a file that SQLite can no longer read.
  if (isOpenElsewhere(path)) throw inUse(path)
  let database: DatabaseSync | undefined
  try {
    // A connection that may write would delete a WAL that it cannot read.
    database = new DatabaseSync(path, { timeout: 0, readOnly: true })
    schemaVersion(database)
    database.close()
    database = new DatabaseSync(path, { timeout: 0 })
    const [mode] = Object.values(database.prepare('pragma journal_mode = delete').get() ?? {})
    database.exec('pragma locking_mode = exclusive; begin exclusive; commit')
    // Another process may have opened the file between the two statements.
    if (mode !== 'delete' || existsSync(walPath(path))) throw inUse(path)
    return database
  } catch (error) {
    if (database?.isOpen) database.close()
    if (error instanceof UnusableDatabase) throw error
    if (isLocked(error)) throw inUse(path)
    if (isDamaged(error)) return undefined
    const reason = error instanceof Error ? error.message : String(error)
    throw new UnusableDatabase(`The database ${path} cannot be locked: ${reason}.`, { cause: error })
  }
}

function inUse(path: string): UnusableDatabase {
  return new UnusableDatabase(`A process has the database ${path} open. Stop it first.`)
}
