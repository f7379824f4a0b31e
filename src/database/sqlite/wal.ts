// Measures the write-ahead log (WAL) of an open database, and detects that it was removed, replaced, truncated or
// overwritten. SQLite continues to write to such a file, and everything in it would be lost with the process.

import { closeSync, fstatSync, openSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { fileIdentity, fileStats, identityOf, indexPath, walPath } from './files.ts'
import { DatabaseLocked, isCorrupt } from './result-codes.ts'
import { createFrameCheck, FRAME_HEADER_BYTES, WAL_HEADER_BYTES } from './wal-frames.ts'

/** From this length on (4 MB with pages of 4 KiB), the WAL is copied to the database file, so that SQLite can restart it. */
export const LONG_WAL_FRAMES = 1_000

/** The WAL gets this long only if somebody reads for a long time, one transaction is very large, or a lock is stuck. */
export const STUCK_WAL_FRAMES = 8 * LONG_WAL_FRAMES

/** The main thread verifies no more frames: they take about 30 ms. */
const MAX_MAIN_THREAD_FRAMES = 16_000

/** Another process may truncate or restart the WAL after it was measured, or change the index while it is measured. */
const LOOKS = 3

/** In frames: each is one page of the database, as it was after a change. */
export interface WalSize {
  readonly frames: number
  /** How many of them a checkpoint has copied to the database file. */
  readonly copied: number
}

type SizeRow = [busy: number, frames: number, copied: number]

export interface Wal {
  /** The identities of the WAL and of its index, the `-shm` file, when the database was opened. */
  readonly identity: string | undefined
  readonly indexIdentity: string | undefined
  /** The size at the last `measure`. */
  readonly size: WalSize
  /** The size of the file at the last `isInPlace`. After a restart of the WAL, its frames take only a part of it. */
  readonly fileBytes: number
  /** Reads how much SQLite has written (1 µs). Returns false if that is unknown now. Must not be called in a transaction. */
  measure(): boolean
  /** Whether the paths still lead to the same files, and the WAL has at least the measured size (2 µs). */
  isInPlace(): boolean
  /** Like `isInPlace`. In the writer thread, also verifies the last frame of the last call, and the frames after it. */
  isIntact(): boolean
  /** Like `isInPlace`. Also verifies all frames, unless there are too many for the main thread. */
  isComplete(): boolean
  /** Until this is called, no other file can get the inode number of the WAL. */
  close(): void
}

export function watchWal(database: DatabaseSync, path: string, isWriter: boolean): Wal {
  const file = walPath(path)
  const { page_size: pageSize } = database.prepare('pragma page_size').get() as { page_size: number }
  const readSize = database.prepare('pragma wal_checkpoint(noop)')
  readSize.setReturnArrays(true)
  const descriptor = isWriter ? openWal(file) : undefined
  const identity = identityOf(descriptor === undefined ? fileStats(file) : fstatSync(descriptor))
  const indexIdentity = fileIdentity(indexPath(path))
  const areFramesValid = descriptor === undefined ? () => true : createFrameCheck(descriptor, pageSize)
  let size: WalSize = { frames: 0, copied: 0 }
  let minBytes = 0
  let fileBytes = 0

  function isInPlace(): boolean {
    const stats = fileStats(file)
    fileBytes = stats?.size ?? 0
    const isSame = identityOf(stats) === identity && fileIdentity(indexPath(path)) === indexIdentity
    return isSame && fileBytes >= minBytes
  }

  function areAllFramesValid(): boolean {
    const own = openWal(file)
    try {
      return createFrameCheck(own, pageSize)(size.frames)
    } finally {
      closeSync(own)
    }
  }

  return {
    identity,
    indexIdentity,
    get size() {
      return size
    },
    get fileBytes() {
      return fileBytes
    },
    measure() {
      const [busy, frames, copied] = readSize.get() as unknown as SizeRow
      // Another process is writing to the index at this moment.
      if (busy === 1) return false
      size = { frames, copied }
      minBytes = frames > 0 ? WAL_HEADER_BYTES + frames * (FRAME_HEADER_BYTES + pageSize) : 0
      return true
    },
    isInPlace,
    isIntact: () => isInPlace() && areFramesValid(size.frames),
    isComplete: () =>
      isInPlace() && (isWriter || size.frames <= MAX_MAIN_THREAD_FRAMES) && areAllFramesValid(),
    close() {
      if (descriptor !== undefined) closeSync(descriptor)
    },
  }
}

/** Measures the WAL first. */
export function isWalIntact(wal: Wal): boolean {
  return look(wal, wal.isIntact)
}

/** The same after a commit. Never throws: a write that fails because of a lock would be repeated. */
export function isStored(wal: Wal): boolean {
  try {
    return isWalIntact(wal)
  } catch {
    return false
  }
}

/** Measures the WAL first, and reads all of it. */
export function isWalComplete(wal: Wal): boolean {
  return look(wal, wal.isComplete)
}

function look(wal: Wal, isFine: () => boolean): boolean {
  try {
    for (let count = 0; count < LOOKS; count++) if (wal.measure() && isFine()) return true
  } catch (error) {
    // SQLite reads the schema before it measures, and may find parts of another file there.
    if (!isCorrupt(error)) throw error
  }
  return false
}

function openWal(file: string): number {
  try {
    return openSync(file, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new DatabaseLocked('the write-ahead log is gone')
  }
}

/** Whether a reader, or a stuck lock, has kept the WAL from being copied for a long time. */
export function isVeryLong({ frames, copied }: WalSize): boolean {
  return frames >= STUCK_WAL_FRAMES && copied < frames
}
