// Detects that the write-ahead log (WAL) of an open database was removed, replaced or truncated, and saves what can be
// saved. SQLite continues to write to such a file, and everything in it would be lost with the process.

import { closeSync, constants, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { checkpoint } from './checkpoint.ts'
import { fileIdentity, fileStats, identityOf, indexPath, walPath } from './files.ts'
import { DatabaseLocked } from './result-codes.ts'

/** https://www.sqlite.org/fileformat2.html#walformat */
const WAL_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

/** In frames: each is one page of the database, as it was after a change. */
export interface WalSize {
  readonly frames: number
  /** How many of them a checkpoint has copied to the database file. */
  readonly copied: number
}

export interface Wal {
  /** The identities of the WAL and of its index, the `-shm` file, when the database was opened. */
  readonly identity: string | undefined
  readonly indexIdentity: string | undefined
  /** The size at the last `measure`. */
  readonly size: WalSize
  /** Reads how much SQLite has written (1.5 µs). Must not be called in a transaction. */
  measure(): void
  /** Whether the paths still lead to the same files, and the WAL has at least the measured size (2 µs). */
  isIntact(): boolean
}

export function watchWal(database: DatabaseSync, path: string): Wal {
  const file = walPath(path)
  const identity = identityOf(fileStats(file))
  const indexIdentity = fileIdentity(indexPath(path))
  const { page_size: pageSize } = database.prepare('pragma page_size').get() as { page_size: number }
  const readSize = database.prepare('pragma wal_checkpoint(noop)')
  let size: WalSize = { frames: 0, copied: 0 }
  let minBytes = 0
  return {
    identity,
    indexIdentity,
    get size() {
      return size
    },
    measure() {
      const { log: frames, checkpointed: copied } = readSize.get() as { log: number; checkpointed: number }
      size = { frames, copied }
      minBytes = frames > 0 ? WAL_HEADER_BYTES + frames * (FRAME_HEADER_BYTES + pageSize) : 0
    },
    isIntact() {
      const stats = fileStats(file)
      const isSame = identityOf(stats) === identity && fileIdentity(indexPath(path)) === indexIdentity
      return stats !== undefined && isSame && stats.size >= minBytes
    },
  }
}

/** Measures first. Another process may truncate the WAL in a checkpoint between the two steps, so it looks twice. */
export function isWalIntact(wal: Wal): boolean {
  for (let look = 0; look < 2; look++) {
    wal.measure()
    if (wal.isIntact()) return true
  }
  return false
}

/**
 * If the WAL or its index was removed or replaced, writes the contents of the WAL to the database file: SQLite still
 * has both files open. Does nothing if the WAL was truncated, because SQLite can no longer read all of it.
 */
export function rescueWal(database: DatabaseSync, path: string, wal: Wal): void {
  const isWalGone = fileIdentity(walPath(path)) !== wal.identity
  const isIndexGone = fileIdentity(indexPath(path)) !== wal.indexIdentity
  if (!isWalGone && !isIndexGone) return
  const dataVersion = database.prepare('pragma data_version')
  const before = dataVersion.get()?.data_version
  // A WAL that is still in place is not truncated: another process may use it already, with a new index.
  if (!checkpoint(database, isWalGone ? 'truncate' : 'full'))
    throw new DatabaseLocked('readers still use the write-ahead log')
  // The index contains the locks. Without it, nothing would stop other processes from using the new WAL.
  if (isIndexGone) return
  database.exec('begin immediate')
  try {
    // The file that took the WAL's place is emptied, because SQLite would apply it to the database after a crash. It is
    // kept if another process has written meanwhile, because it contains those changes.
    if (dataVersion.get()?.data_version === before) emptyFile(walPath(path))
  } finally {
    database.exec('rollback')
  }
}

/**
 * The connection that closes last copies the WAL to the database file. From a truncated WAL it would copy some pages of a
 * transaction and not the others. A read-only connection never copies, so such a connection closes last here.
 */
export function closeWithoutCheckpoint(database: DatabaseSync, path: string): void {
  let last: DatabaseSync | undefined
  try {
    last = new DatabaseSync(path, { readOnly: true })
    last.prepare('select 1 from sqlite_schema').get()
  } catch {
    // The truncated WAL cannot be read, but the file is locked now.
  }
  database.close()
  last?.close()
}

function emptyFile(path: string): void {
  try {
    closeSync(openSync(path, constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
