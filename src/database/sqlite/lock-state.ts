// Memory in which the writer thread tells the main thread on which state of the write-ahead log (WAL) it holds a read lock.

import type { WalSize } from './wal.ts'

export type LockState = Int32Array<SharedArrayBuffer>

const FRAMES = 0
const COPIED = 1
const OTHERS_WRITE = 2
const RENEWALS = 3
const BYTES = 16

const NOT_LOCKED = -1

export function createLockState(): LockState {
  const state: LockState = new Int32Array(new SharedArrayBuffer(BYTES))
  setReleased(state)
  return state
}

/** Called after a lock was taken or renewed. `othersWrite` tells whether other processes have written lately. */
export function setLocked(state: LockState, { frames, copied }: WalSize, othersWrite: boolean): void {
  state[FRAMES] = frames
  state[COPIED] = copied
  state[OTHERS_WRITE] = Number(othersWrite)
  Atomics.add(state, RENEWALS, 1)
}

/** Called before the only lock is released, and if the main thread could not share it. */
export function setReleased(state: LockState): void {
  setLocked(state, { frames: NOT_LOCKED, copied: NOT_LOCKED }, false)
}

export function isLockedAt(state: LockState, { frames, copied }: WalSize): boolean {
  return state[FRAMES] === frames && state[COPIED] === copied
}

export function doOthersWrite(state: LockState): boolean {
  return state[OTHERS_WRITE] === 1
}

/** How often the state has changed or was confirmed. The number overflows to a negative one. */
export function renewals(state: LockState): number {
  return Atomics.load(state, RENEWALS)
}
