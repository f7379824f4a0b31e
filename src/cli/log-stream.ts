// Writes the log: JSON lines for programs, readable lines on a terminal.

import { styleText } from 'node:util'

export interface LogStream {
  write(line: string): void
}

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

export function logStreamFor(stream: NodeJS.WriteStream): LogStream {
  if (!stream.isTTY) return stream
  return { write: line => void stream.write(`${formatForTerminal(line)}\n`) }
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
