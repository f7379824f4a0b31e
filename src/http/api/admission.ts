// Bounds the requests that wait for the database. Requests beyond the limit are refused at once, so that those already
// waiting are answered in time (docs/decisions/overload.md).

import { overloaded } from './api-errors.ts'

export interface Admission {
  /** Throws `unavailable` if too many wait. */
  check(): void
  /** Starts the work, and counts it until it is done. Throws `unavailable` if too many wait. */
  run<Result>(work: () => Promise<Result>): Promise<Result>
}

export function createAdmission(limit: number): Admission {
  let waiting = 0

  function check(): void {
    if (waiting >= limit) throw overloaded()
  }

  function leave(): void {
    waiting--
  }

  return {
    check,
    run(work) {
      check()
      const result = work()
      waiting++
      result.then(leave, leave)
      return result
    },
  }
}
