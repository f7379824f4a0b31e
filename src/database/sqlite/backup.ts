// `backup`: copies a database file while other processes use it, and verifies the copy.

import { closeSync, fsyncSync, lstatSync, openSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { UnusableDatabase } from '../../store.ts'
import { inPrivateFolder, PRIVATE_FILE, publish } from '../new-file.ts'
import { LOCK_TIMEOUT_MS } from './errors.ts'
import { requireFile } from './files.ts'
import { checkOwner, findDamage, isEmpty } from './integrity.ts'
import { schemaVersion } from './migrate.ts'

/** About 8 MiB per step: small enough for a progress bar, and large enough that the steps cost nothing. */
const PAGES_PER_STEP = 2_000

export interface CopyProgress {
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

/** Throws if a signal has arrived while this process was busy: it is handled only between two turns of the event loop. */
export async function throwIfInterrupted(signal: AbortSignal): Promise<void> {
  await nextTurn()
  await nextTurn()
  signal.throwIfAborted()
}

/** Checks every row of the copy of `path`, and makes sure that the copy is on disk. */
export function verifyCopy(path: string, copy: string): Copied {
  const database = new DatabaseSync(copy)
  let animals: bigint
  try {
    const problem = isEmpty(database)
      ? 'has no tables'
      : (checkOwner(database) ?? findDamage(database, 'integrity_check'))
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
