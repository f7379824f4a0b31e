// Memory in which the writer thread tells the main thread on which state of the write-ahead log (WAL) it holds a read lock.

import type { WalSize } from './wal.ts'

export type LockedSize = Int32Array<SharedArrayBuffer>

const FRAMES = 0
const COPIED = 1
const RENEWALS = 2

const NOT_LOCKED: WalSize = { frames: -1, copied: -1 }

export function createLockedSize(): LockedSize {
  const locked: LockedSize = new Int32Array(new SharedArrayBuffer(12))
  setLockedSize(locked, NOT_LOCKED)
  return locked
}

/** Called by the writer thread after it has locked this state, and without a state before it releases its only lock. */
export function setLockedSize(locked: LockedSize, { frames, copied } = NOT_LOCKED): void {
  locked[FRAMES] = frames
  locked[COPIED] = copied
  Atomics.add(locked, RENEWALS, 1)
}

export function isLockedSize(locked: LockedSize, { frames, copied }: WalSize): boolean {
  return locked[FRAMES] === frames && locked[COPIED] === copied
}

/** How often the lock was renewed or released. */
export function renewals(locked: LockedSize): number {
  return Atomics.load(locked, RENEWALS)
}
