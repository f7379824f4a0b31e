// Shows the progress of a long task: a bar on a terminal, otherwise a line every few seconds.

import { formatNumber } from '../number-format.ts'
import type { Output } from './command.ts'

const REDRAW_MS = 100
const LINE_EVERY_MS = 5_000
const BAR_WIDTH = 16
const DEFAULT_COLUMNS = 80

export interface Progress {
  /** `share` is the part that is done, from 0 to 1, if known. */
  update(count: number, share?: number): void
  /** Removes the bar. */
  end(): void
}

/** `what` says what is done, such as `imported`. `clock` returns milliseconds. */
export function createProgress(
  stream: Output,
  what: string,
  unit = 'animals',
  clock = () => performance.now(),
): Progress {
  const start = clock()
  let last = start

  return {
    update(count, given) {
      // A file may grow while it is being read.
      const share = given && Math.min(given, 1)
      const now = clock()
      if (now - last < (stream.isTTY ? REDRAW_MS : LINE_EVERY_MS)) return
      last = now
      const seconds = (now - start) / 1000
      const rate = formatNumber(Math.round(count / seconds))
      const words = [
        `${what} ${formatNumber(count)} ${unit}`,
        `${rate}${unit === 'animals' ? '' : ` ${unit}`} a second`,
      ]
      if (share) words.push(`${formatTime((seconds / share) * (1 - share))} left`)
      stream.write(
        stream.isTTY ? `\r${fitted(share, words, stream.columns)}\u001b[K` : `${words.join(', ')}\n`,
      )
    },
    end() {
      if (stream.isTTY) stream.write('\r\u001b[K')
    },
  }
}

/** Returns a time in the largest unit that it fills more than once. */
function formatTime(seconds: number): string {
  if (seconds < 120) return `${Math.ceil(seconds)} s`
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}

/** A longer line would continue on the next one, and a terminal cannot redraw that in place. */
function fitted(share: number | undefined, words: readonly string[], columns = DEFAULT_COLUMNS): string {
  const lines = [`${bar(share)}${words.join(', ')}`, words.join(', '), words.slice(0, 1).join()]
  // Some terminals wrap as soon as the last column is written.
  return lines.find(line => line.length < columns) ?? ''
}

function bar(share: number | undefined): string {
  if (share === undefined) return ''
  const done = Math.round(share * BAR_WIDTH)
  return `[${'#'.repeat(done)}${'.'.repeat(BAR_WIDTH - done)}] ${Math.floor(share * 100)} % `
}

/** Returns the time since `start`, a value of `performance.now()`, with one decimal. */
export function secondsSince(start: number): string {
  return ((performance.now() - start) / 1_000).toFixed(1)
}
