// Splits a stream of bytes into lines, in constant memory.

const LINE_FEED = 0x0a
const BOM = Buffer.from([0xef, 0xbb, 0xbf])

/** A line that is longer than `maxBytes` is cut there; the caller rejects it. */
export function lineSplitter(
  maxBytes: number,
  onLine: (line: Buffer, number: number) => void,
): { push(chunk: Buffer): void; end(): void } {
  let number = 0
  let rest: Buffer[] = []
  let restBytes = 0

  function keep(part: Buffer): void {
    const room = maxBytes - restBytes
    if (room > 0) rest.push(part.subarray(0, room))
    restBytes += part.length
  }

  function finish(part: Buffer): void {
    number++
    keep(part)
    const whole = rest.length === 1 ? (rest[0] as Buffer) : Buffer.concat(rest)
    rest = []
    restBytes = 0
    const hasBom = number === 1 && whole.indexOf(BOM) === 0
    onLine(hasBom ? whole.subarray(BOM.length) : whole, number)
  }

  return {
    push(chunk) {
      let from = 0
      for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, from)) {
        finish(chunk.subarray(from, at))
        from = at + 1
      }
      if (from < chunk.length) keep(chunk.subarray(from))
    },
    end() {
      if (restBytes > 0) finish(Buffer.alloc(0))
    },
  }
}
