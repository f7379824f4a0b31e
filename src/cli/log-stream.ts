// Writes the log: JSON lines for programs, readable lines on a terminal. Lines that cannot be written are dropped and
// counted, so that a full disk or a closed pipe never stops the service.

import { fstatSync, writeSync } from 'node:fs'
import { styleText } from 'node:util'

export interface LogStream {
  write(line: string): void
}

export interface LogOutput extends LogStream {
  /** How many lines could not be written. */
  droppedLines(): number
}

type OnWritten = (error?: Error | null) => void

/** Takes text, and calls back once it is written or has failed. */
interface Sink {
  write(text: string, onWritten: OnWritten): unknown
  /** The bytes that wait to be written. */
  readonly writableLength: number
}

/** The types of Node.js declare the file descriptor only on `process.stdout` and `process.stderr`. */
type OutputStream = NodeJS.WriteStream & { readonly fd?: number }

/** A pipe whose reader does not read, such as a stopped log collector, must not fill the memory. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024

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

export function createLogOutput(stream: OutputStream): LogOutput {
  const { fd, isTTY } = stream
  const sink = fd === undefined || isTTY || !isFile(fd) ? stream : fileSink(fd)
  const render = isTTY ? (line: string) => `${formatForTerminal(line)}\n` : (line: string) => line
  let dropped = 0
  let reported = 0
  let isReporting = false
  // Without a listener, an error would end the process. `onWritten` gets the same error.
  stream.on('error', () => {})

  function onWritten(error?: Error | null): void {
    if (error) dropped++
    else if (dropped > reported && !isReporting) report(dropped)
  }

  /** Called when a line could be written again. */
  function report(total: number): void {
    isReporting = true
    const line = { level: 40, time: Date.now(), dropped: total - reported, msg: 'log lines were dropped' }
    sink.write(render(`${JSON.stringify(line)}\n`), error => {
      isReporting = false
      if (!error) reported = total
    })
  }

  return {
    write(line) {
      if (sink.writableLength > MAX_WAITING_BYTES) dropped++
      else sink.write(render(line), onWritten)
    },
    droppedLines: () => dropped,
  }
}

/** Devices such as /dev/null are written like files. */
function isFile(fd: number): boolean {
  const stats = fstatSync(fd)
  return !stats.isFIFO() && !stats.isSocket()
}

/** The stream of Node.js ignores that a nearly full disk takes only a part of a line. */
function fileSink(fd: number): Sink {
  let isWithinLine = false

  function writeAll(text: string): void {
    // The next line must not continue a line that was written in part.
    let rest = Buffer.from(isWithinLine ? `\n${text}` : text)
    while (rest.length > 0) {
      rest = rest.subarray(writeSync(fd, rest))
      isWithinLine = rest.length > 0
    }
  }

  return {
    writableLength: 0,
    write(text, onWritten) {
      try {
        writeAll(text)
      } catch (error) {
        onWritten(error as Error)
        return
      }
      onWritten()
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
