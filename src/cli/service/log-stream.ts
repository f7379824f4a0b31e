// Writes the log: JSON lines for programs, readable lines on a terminal. Lines that cannot be written are dropped and
// counted, so that a full disk or a closed pipe never stops the service.

import { fstatSync, write } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify, styleText } from 'node:util'

export interface LogStream {
  write(line: string): void
}

export interface LogOutput extends LogStream {
  /** How many lines could not be written. */
  droppedLines(): number
  /** Resolves when all lines are written or dropped, at the latest after a second. */
  flush(): Promise<void>
}

/** A log collector that does not read must not fill the memory. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024

/** Lines are written together, after this time at the latest. */
const MAX_DELAY_MS = 100

/** As many as fit into one write. Workers share a pipe or socket, which does not mix writes of up to 4 KiB. */
const MAX_WRITE_BYTES = 64 * 1024
const MAX_SHARED_WRITE_BYTES = 4 * 1024

/** The pause after a pipe was full. */
const FULL_PIPE_PAUSE_MS = 20
const FLUSH_TIMEOUT_MS = 1_000

/** Lines of other levels are written at once. */
const INFO = '{"level":30,'

const writeBytes = promisify(write)

interface LogLine {
  readonly level: number
  readonly time: number
  readonly msg: string
  readonly method?: string
  readonly route?: string | null
  readonly status?: number | null
  readonly durationMs?: number
  readonly err?: { readonly stack: string }
}

const LEVELS = new Map([
  [10, styleText('gray', 'trace')],
  [20, styleText('gray', 'debug')],
  [30, styleText('green', 'info ')],
  [40, styleText('yellow', 'warn ')],
  [50, styleText('red', 'error')],
  [60, styleText('red', 'fatal')],
])

/** What `process.stdout` is. Node.js would write to it synchronously, but makes a pipe non-blocking. */
interface LogDestination {
  readonly fd: number
  readonly isTTY?: boolean
}

/** `isShared` tells whether other processes write to the same output. */
export function createLogOutput({ fd, isTTY = false }: LogDestination, isShared = false): LogOutput {
  const maxWriteBytes = isShared && !fstatSync(fd).isFile() ? MAX_SHARED_WRITE_BYTES : MAX_WRITE_BYTES
  const lines: string[] = []
  /** The size of all lines that wait to be written. It is counted in characters: nearly all of them are ASCII. */
  let waiting = 0
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> | undefined
  let isWithinLine = false
  let dropped = 0
  let reported = 0

  function add(line: string): void {
    const text = isTTY ? `${formatForTerminal(line)}\n` : line
    lines.push(text)
    waiting += text.length
  }

  function start(): void {
    clearTimeout(timer)
    timer = undefined
    writing ??= writeAll().finally(() => {
      writing = undefined
      if (lines.length > 0) start()
    })
  }

  async function writeAll(): Promise<void> {
    while (lines.length > 0) {
      const batch = takeBatch()
      try {
        await writeBatch(batch.join(''))
        if (dropped > reported) reportDropped()
      } catch {
        dropped += batch.length
      }
    }
  }

  function takeBatch(): string[] {
    let count = 0
    let bytes = 0
    while (count < lines.length && (count === 0 || bytes + (lines[count] as string).length <= maxWriteBytes))
      bytes += (lines[count++] as string).length
    waiting -= bytes
    return lines.splice(0, count)
  }

  /** A nearly full disk takes only a part. The next line must not continue a line that was written in part. */
  async function writeBatch(text: string): Promise<void> {
    let rest = Buffer.from(isWithinLine ? `\n${text}` : text)
    while (rest.length > 0) {
      try {
        const { bytesWritten } = await writeBytes(fd, rest)
        rest = rest.subarray(bytesWritten)
        isWithinLine = rest.length > 0
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
        await delay(FULL_PIPE_PAUSE_MS)
      }
    }
  }

  function reportDropped(): void {
    const line = { level: 40, time: Date.now(), dropped: dropped - reported, msg: 'log lines were dropped' }
    reported = dropped
    add(`${JSON.stringify(line)}\n`)
  }

  return {
    write(line) {
      if (waiting > MAX_WAITING_BYTES) {
        dropped++
        return
      }
      add(line)
      if (isTTY || waiting >= maxWriteBytes || !line.startsWith(INFO)) start()
      else timer ??= setTimeout(start, MAX_DELAY_MS)
    },

    droppedLines: () => dropped,

    async flush() {
      start()
      const deadline = delay(FLUSH_TIMEOUT_MS, 'too late', { ref: false })
      while (writing !== undefined && (await Promise.race([writing, deadline])) === undefined);
    },
  }
}

export function formatForTerminal(line: string): string {
  const { level, time, msg, method, route, status, durationMs, err, ...rest } = JSON.parse(
    line,
    keepDigits,
  ) as LogLine
  const clock = new Date(time).toTimeString().slice(0, 8)
  const outcome = `${method} ${route ?? '(unknown path)'} ${status ?? 'aborted'} ${durationMs} ms`
  const details = Object.entries(rest).map(
    ([field, value]) => `${field}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const words = [styleText('gray', clock), LEVELS.get(level), method === undefined ? msg : outcome]
  if (details.length > 0) words.push(styleText('gray', details.join(' ')))
  return err === undefined ? words.join(' ') : `${words.join(' ')}\n${err.stack}`
}

/** An animal's id may be larger than a double can hold exactly. */
function keepDigits(_name: string, value: unknown, { source }: { readonly source?: string }): unknown {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? source : value
}
