// A stream of bytes as lines, in constant memory.

const LINE_FEED = 0x0a
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** A line of more bytes than `maxBytes` is cut there: it is too long for anything that is waited for. */
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
    const hasMark = number === 1 && whole.indexOf(BYTE_ORDER_MARK) === 0
    onLine(hasMark ? whole.subarray(BYTE_ORDER_MARK.length) : whole, number)
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
