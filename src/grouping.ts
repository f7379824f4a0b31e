// Creations that arrive together are stored together: while one batch commits, the next one gathers.

import { ServiceError } from './error.ts'
import type { Creation, Outcome, Store } from './store.ts'

export interface GroupLimits {
  /** The most creations in one batch. */
  readonly batch: number
  /** The most creations that wait for their batch; more are refused at once. */
  readonly waiting: number
  /** The longest that one waits for its batch to begin. */
  readonly waitMs: number
}

export const GROUP_LIMITS: GroupLimits = { batch: 256, waiting: 4_096, waitMs: 2_500 }

interface Entry {
  readonly creations: readonly Creation[]
  readonly resolve: (outcomes: Outcome[]) => void
  readonly reject: (error: unknown) => void
  readonly timer: NodeJS.Timeout
}

/** The same store, with `createAnimals` grouped. A creation that cannot wait any longer is `unavailable`. */
export function groupCreations(store: Store, limits = GROUP_LIMITS): Store {
  const waiting = new Set<Entry>()
  let waitingCreations = 0
  let isStoring = false

  function leave(entry: Entry): void {
    clearTimeout(entry.timer)
    if (waiting.delete(entry)) waitingCreations -= entry.creations.length
  }

  function nextBatch(): Entry[] {
    const batch: Entry[] = []
    let size = 0
    for (const entry of waiting) {
      if (size > 0 && size + entry.creations.length > limits.batch) break
      size += entry.creations.length
      batch.push(entry)
      leave(entry)
    }
    return batch
  }

  async function storeAll(): Promise<void> {
    isStoring = true
    while (waiting.size > 0) {
      // All that is arriving in this turn of the event loop belongs to the batch.
      await new Promise(resolve => setImmediate(resolve))
      await storeBatch(store, nextBatch())
    }
    isStoring = false
  }

  return {
    ...store,
    createAnimals(creations) {
      if (waitingCreations + creations.length > limits.waiting) return Promise.reject(tooLate())
      return new Promise((resolve, reject) => {
        const entry: Entry = {
          creations,
          resolve,
          reject,
          timer: setTimeout(() => {
            leave(entry)
            reject(tooLate())
          }, limits.waitMs),
        }
        waiting.add(entry)
        waitingCreations += creations.length
        if (!isStoring) storeAll()
      })
    },
  }
}

async function storeBatch(store: Store, batch: readonly Entry[]): Promise<void> {
  // Those that waited may all have been let go in the meantime.
  if (batch.length === 0) return
  try {
    const outcomes = await store.createAnimals(batch.flatMap(({ creations }) => creations))
    let from = 0
    for (const { creations, resolve } of batch) {
      resolve(outcomes.slice(from, from + creations.length))
      from += creations.length
    }
  } catch (error) {
    const isAway = error instanceof ServiceError && error.code === 'unavailable'
    if (isAway || batch.length === 1) {
      for (const { reject } of batch) reject(error)
    } else {
      // One of them is at fault: stored one by one, only that one fails.
      for (const entry of batch) await storeBatch(store, [entry])
    }
  }
}

function tooLate(): ServiceError {
  return new ServiceError('unavailable', 'The animal could not be added in time. Try again shortly.')
}
