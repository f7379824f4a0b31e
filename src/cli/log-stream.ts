// Where log lines go: JSON as it is for programs, readable lines for a person at a terminal.

import { styleText } from 'node:util'

export interface LogStream {
  write(line: string): void
}

const LEVELS = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' } as const
const COLOURS = {
  trace: 'gray',
  debug: 'gray',
  info: 'green',
  warn: 'yellow',
  error: 'red',
  fatal: 'red',
} as const

export function logStreamFor(stream: NodeJS.WriteStream): LogStream {
  if (!stream.isTTY) return stream
  return { write: line => void stream.write(`${readable(line)}\n`) }
}

export function readable(line: string): string {
  const { level, time, msg, requestId, method, route, status, durationMs, err, ...rest } = JSON.parse(line)
  const name = LEVELS[level as keyof typeof LEVELS] ?? 'info'
  const clock = new Date(time).toTimeString().slice(0, 8)
  const words =
    method === undefined
      ? msg
      : `${method} ${route ?? '(unknown path)'} ${status ?? 'aborted'} ${durationMs} ms`
  const details = Object.entries({ ...rest, requestId })
    .filter(([, value]) => value !== undefined)
    .map(([field, value]) => `${field}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const failure = err?.stack ? `\n${err.stack}` : ''
  return (
    [
      styleText('gray', clock),
      styleText(COLOURS[name], name.padEnd(5)),
      words,
      styleText('gray', details.join(' ')),
    ].join(' ') + failure
  )
}
