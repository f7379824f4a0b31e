// Bounds the requests that wait for the database. Requests beyond the limit are refused at once, so that those already
// waiting are answered in time (docs/decisions/overload.md).

import { overloaded } from './operation-errors.ts'

/** As many as wait in the queue of creations (BATCH_LIMITS). At 5,000 per second they wait 0.8 seconds. */
export const MAX_IN_WORK = 4_096

export interface Admission {
  /** Throws `unavailable` if there are too many. */
  check(): void
  /** Starts the work and counts it until it is done. Throws `unavailable` if there is too much. */
  run<Result>(work: () => Promise<Result>): Promise<Result>
}

export function createAdmission(limit = MAX_IN_WORK): Admission {
  let inWork = 0

  function check(): void {
    if (inWork >= limit) throw overloaded()
  }

  function leave(): void {
    inWork--
  }

  return {
    check,
    run(work) {
      check()
      const result = work()
      inWork++
      result.then(leave, leave)
      return result
    },
  }
}
