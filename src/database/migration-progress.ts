// How far a long migration is: a line every few seconds.

import { formatNumber } from '../number-format.ts'

const INTERVAL_MS = 5_000

/** Returns a function that takes the number of search names that were filled in so far. */
export function createMigrationProgress(say: (text: string) => void): (filled: number) => void {
  let last = performance.now()
  return filled => {
    if (performance.now() - last < INTERVAL_MS) return
    last = performance.now()
    say(`Migrating: ${formatNumber(filled)} search names were filled in so far.`)
  }
}
