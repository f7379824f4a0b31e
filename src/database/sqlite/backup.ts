// Copies a database file while other processes use it, and verifies the copy.

import { closeSync, existsSync, fsyncSync, lstatSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { UnusableDatabase } from '../../store.ts'
import { PRIVATE_FILE, publish, unfinishedName } from '../new-file.ts'
import { fileSize, SIDE_FILES } from './files.ts'
import { checkOwner, findDamage, isEmpty } from './integrity.ts'
import { schemaVersion } from './migrate.ts'

/** About 8 MiB per step: small enough for a progress bar, and large enough that the steps cost nothing. */
const PAGES_PER_STEP = 2_000

const LOCK_TIMEOUT_MS = 2_000

export interface CopyProgress {
  readonly bytes: number
  /** The part that is done, from 0 to 1. */
  readonly share: number
}

export interface Copied {
  readonly animals: bigint
  readonly bytes: number
}

/** Writes a copy to a new file. Until it is complete and verified, it has another name. */
export async function backUp(
  path: string,
  file: string,
  onProgress: (progress: CopyProgress) => void,
): Promise<Copied> {
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined)
    throw new UnusableDatabase(`${file} already exists. A backup does not replace a file.`)
  const unfinished = unfinishedName(file)
  try {
    const copied = await copyDatabase(path, unfinished, onProgress)
    publish(unfinished, file)
    syncFolder(dirname(resolve(file)))
    return copied
  } finally {
    removeDatabase(unfinished)
  }
}

/**
 * Copies the database as it is at one moment to a new file, which is on disk and verified afterwards. `isUnused` promises
 * that nobody changes the database meanwhile.
 */
export async function copyDatabase(
  path: string,
  copy: string,
  onProgress: (progress: CopyProgress) => void,
  isUnused = false,
): Promise<Copied> {
  const source = openSource(path, isUnused)
  try {
    // The copy is created here, because SQLite would give it another mode, and would use an existing file.
    closeSync(openSync(copy, 'wx', PRIVATE_FILE))
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
  const animals = verifyCopy(path, copy)
  // Windows writes a file to disk only for those who may change it.
  sync(copy, 'r+')
  return { animals, bytes: fileSize(copy) }
}

/** Opens the source writable unless `isUnused`, so that SQLite removes its side files at the end. Migrates nothing. */
function openSource(path: string, isUnused: boolean): DatabaseSync {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) throw new UnusableDatabase(`There is no database at ${path}.`)
  if (!stats.isFile()) throw new UnusableDatabase(`The database ${path} is not a file.`)
  const url = pathToFileURL(resolve(path))
  if (!isUnused) return new DatabaseSync(url, { timeout: LOCK_TIMEOUT_MS })
  // Without `immutable`, SQLite would create side files next to the source, and fail in a read-only folder.
  if (!SIDE_FILES.some(suffix => existsSync(path + suffix))) url.searchParams.set('immutable', '1')
  return new DatabaseSync(url, { readOnly: true, timeout: LOCK_TIMEOUT_MS })
}

/** Checks every row of the copy, and returns the number of animals. */
function verifyCopy(path: string, copy: string): bigint {
  const database = new DatabaseSync(copy)
  try {
    const problem = isEmpty(database)
      ? 'has no tables'
      : (checkOwner(database) ?? findDamage(database, 'integrity_check'))
    if (problem !== undefined) throw new UnusableDatabase(`The database ${path} ${problem}.`)
    // A database in WAL mode cannot be opened in a read-only folder.
    database.exec('pragma journal_mode = delete')
    const count = database.prepare('select count(*) from animals')
    count.setReadBigInts(true)
    return Object.values(count.get() ?? {})[0] as bigint
  } finally {
    database.close()
  }
}

export function removeDatabase(path: string): void {
  for (const suffix of ['', ...SIDE_FILES]) rmSync(path + suffix, { force: true })
}

/** Makes new, renamed and deleted names survive a power failure. */
export function syncFolder(folder: string): void {
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
