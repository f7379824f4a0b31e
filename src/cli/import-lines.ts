// The lines of an imported file, with their numbers, in constant memory.

/** Far more than an animal needs. Without a limit, a quote that is never closed would fill the memory. */
export const MAX_ENTRY_BYTES = 256 * 1024

const LINE_FEED = 0x0a
const BOM = Buffer.from('\ufeff')
const NONE = Buffer.alloc(0)

export class Lines {
  /** The number of the next line. */
  number = 1
  /** The next lines, each with its line feed. */
  bytes: Buffer = NONE
  /** Whether the file has been read to its end. */
  isEnded = false
  /** The start of a line whose end has not been read. */
  #start: Buffer = NONE

  /**
   * Removes a byte order mark. A line longer than MAX_ENTRY_BYTES may be truncated, but is still too long for an
   * entry.
   */
  push(chunk: Buffer): void {
    const end = chunk.lastIndexOf(LINE_FEED) + 1
    if (end > 0) {
      const isFirst = this.number === 1 && this.bytes.length === 0
      const bytes = Buffer.concat([this.bytes, this.#start, chunk.subarray(0, end)])
      this.bytes = isFirst && bytes.indexOf(BOM) === 0 ? bytes.subarray(BOM.length) : bytes
      this.#start = NONE
    }
    if (this.#start.length < MAX_ENTRY_BYTES) this.#start = Buffer.concat([this.#start, chunk.subarray(end)])
  }

  end(): void {
    if (this.#start.length > 0) this.push(Buffer.of(LINE_FEED))
    this.isEnded = true
  }

  /** Takes the next `length` bytes, which must be whole lines. */
  take(length: number): Buffer {
    const taken = this.bytes.subarray(0, length)
    this.bytes = this.bytes.subarray(length)
    for (let at = 0; at < length; at = endOfLine(taken, at)) this.number++
    return taken
  }

  takeOne(): Buffer {
    return this.take(endOfLine(this.bytes, 0))
  }

  skipTo(number: number): void {
    while (this.number < number && this.bytes.length > 0) this.takeOne()
  }
}

/** Returns the offset of the next line, or of the end of the last one. */
export function endOfLine(bytes: Buffer, offset: number): number {
  return bytes.indexOf(LINE_FEED, offset) + 1 || bytes.length
}
