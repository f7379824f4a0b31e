// Where log lines go: JSON as it is for programs, readable lines for a person at a terminal.

import { styleText } from 'node:util'
import { parseJson, renderJson } from '../json.ts'

export interface LogStream {
  write(line: string): void
}

/** A line of the log, with exact integers. */
interface LogLine {
  readonly level: bigint
  readonly time: bigint
  readonly msg: string
  readonly method?: string
  readonly route?: string | null
  readonly status?: bigint | null
  readonly durationMs?: bigint | number
  readonly err?: { readonly stack: string }
}

const LEVELS = new Map([
  [10n, styleText('gray', 'trace')],
  [20n, styleText('gray', 'debug')],
  [30n, styleText('green', 'info ')],
  [40n, styleText('yellow', 'warn ')],
  [50n, styleText('red', 'error')],
  [60n, styleText('red', 'fatal')],
])

export function logStreamFor(stream: NodeJS.WriteStream): LogStream {
  if (!stream.isTTY) return stream
  return { write: line => void stream.write(`${readable(line)}\n`) }
}

export function readable(line: string): string {
  const { level, time, msg, method, route, status, durationMs, err, ...rest } = parseJson(line) as LogLine
  const clock = new Date(Number(time)).toTimeString().slice(0, 8)
  const answer = `${method} ${route ?? '(unknown path)'} ${status ?? 'aborted'} ${durationMs} ms`
  const details = Object.entries(rest).map(
    ([field, value]) => `${field}=${typeof value === 'string' ? value : renderJson(value)}`,
  )
  const words = [styleText('gray', clock), LEVELS.get(level), method === undefined ? msg : answer]
  if (details.length > 0) words.push(styleText('gray', details.join(' ')))
  return err === undefined ? words.join(' ') : `${words.join(' ')}\n${err.stack}`
}
