// Checks whether SQLite would find the frames of a write-ahead log (WAL) after a crash: it stops at the first one with a wrong
// checksum (https://www.sqlite.org/fileformat2.html#walformat). If somebody truncates the file while SQLite writes to it, it
// grows again at once, with zeros in the middle, so its size does not tell.

import { readSync } from 'node:fs'
import { endianness } from 'node:os'

export const WAL_HEADER_BYTES = 32
export const FRAME_HEADER_BYTES = 24

/** In the header of the WAL. The lowest bit of the magic number is the byte order of the checksums. */
const MAGIC = 0x377f0682
const CHECKSUM_OFFSET = 24

/** A WAL that a machine with the other byte order has left behind is not checked. SQLite replaces it at the next restart. */
const NATIVE_ORDER = endianness() === 'BE' ? 1 : 0

/** The same 8 bytes are in the header of the WAL and in that of each frame. They change when the WAL restarts. */
const SALT_OFFSET = 16
const FRAME_SALT_OFFSET = 8
const FRAME_CHECKSUM_OFFSET = 16

const FRAMES_PER_READ = 16

/** Two numbers of 32 bits. That of each frame continues that of the frame before. */
interface Checksum {
  readonly first: number
  readonly second: number
}

const ZERO: Checksum = { first: 0, second: 0 }

interface Position {
  readonly frames: number
  readonly checksum: Checksum
}

/** Returns whether so many frames of the file are valid. A call reads the last frame of the call before, and newer ones. */
export type AreFramesValid = (count: number) => boolean

export function createFrameCheck(descriptor: number, pageSize: number): AreFramesValid {
  const frameBytes = FRAME_HEADER_BYTES + pageSize
  const header = bytes(WAL_HEADER_BYTES)
  const frames = bytes(FRAMES_PER_READ * frameBytes)
  const checkedHeader = Buffer.alloc(WAL_HEADER_BYTES)
  let start: Position = { frames: 0, checksum: ZERO }
  let beforeLast = start

  function isRead(buffer: Buffer, length: number, position: number): boolean {
    try {
      return readSync(descriptor, buffer, 0, length, position) === length
    } catch {
      return false
    }
  }

  /** Reads the header. Returns whether it is valid, and starts from the first frame if it has changed. */
  function isHeaderValid(): boolean {
    if (!isRead(header.buffer, WAL_HEADER_BYTES, 0)) return false
    if ((header.view.getUint32(0) & ~1) !== MAGIC) return false
    if (header.buffer.equals(checkedHeader)) return true
    const checksum = addToChecksum(ZERO, header.words, 0, CHECKSUM_OFFSET)
    if (hasNativeOrder() && !isChecksumAt(header.view, CHECKSUM_OFFSET, checksum)) return false
    header.buffer.copy(checkedHeader)
    start = { frames: 0, checksum }
    beforeLast = start
    return true
  }

  function hasNativeOrder(): boolean {
    return (header.view.getUint32(0) & 1) === NATIVE_ORDER
  }

  /** Returns the checksum of the frame, or undefined if the frame is not valid. */
  function checkFrame(offset: number, before: Checksum): Checksum | undefined {
    const { view, words } = frames
    const isSalted = view.getBigUint64(offset + FRAME_SALT_OFFSET) === header.view.getBigUint64(SALT_OFFSET)
    if (!isSalted) return undefined
    const afterHeader = addToChecksum(before, words, offset, offset + FRAME_SALT_OFFSET)
    const checksum = addToChecksum(afterHeader, words, offset + FRAME_HEADER_BYTES, offset + frameBytes)
    return isChecksumAt(view, offset + FRAME_CHECKSUM_OFFSET, checksum) ? checksum : undefined
  }

  return count => {
    if (count === 0) return true
    if (!isHeaderValid()) return false
    if (!hasNativeOrder()) return true
    let last = count > beforeLast.frames ? beforeLast : start
    let { frames: done, checksum } = last
    while (done < count) {
      const length = Math.min(count - done, FRAMES_PER_READ) * frameBytes
      if (!isRead(frames.buffer, length, WAL_HEADER_BYTES + done * frameBytes)) return false
      for (let offset = 0; offset < length; offset += frameBytes) {
        const after = checkFrame(offset, checksum)
        if (after === undefined) return false
        last = { frames: done++, checksum }
        checksum = after
      }
    }
    beforeLast = last
    return true
  }
}

interface Bytes {
  readonly buffer: Buffer
  readonly view: DataView
  readonly words: Int32Array
}

function bytes(length: number): Bytes {
  const memory = new ArrayBuffer(length)
  return { buffer: Buffer.from(memory), view: new DataView(memory), words: new Int32Array(memory) }
}

/** `| 0` after each addition: V8 then computes with integers alone, six times as fast. */
function addToChecksum({ first, second }: Checksum, words: Int32Array, from: number, to: number): Checksum {
  let a = first
  let b = second
  for (let index = from >> 2; index < to >> 2; index += 2) {
    a = (((a + (words[index] as number)) | 0) + b) | 0
    b = (((b + (words[index + 1] as number)) | 0) + a) | 0
  }
  return { first: a, second: b }
}

function isChecksumAt(view: DataView, offset: number, { first, second }: Checksum): boolean {
  return view.getInt32(offset) === first && view.getInt32(offset + 4) === second
}
