// Creations that arrive together are stored together: while one batch commits, the next one gathers.

import { setImmediate as nextTurn } from 'node:timers/promises'
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

/** A creation waits out a disk that stalls, and a batch before it that waits two seconds for a lock. */
export const GROUP_LIMITS: GroupLimits = { batch: 256, waiting: 4_096, waitMs: 5_000 }

interface Entry {
  readonly creations: readonly Creation[]
  readonly resolve: (outcomes: Outcome[]) => void
  readonly reject: (error: unknown) => void
  /** When it can wait no longer. */
  readonly until: number
}

/** The same store, with `createAnimals` grouped. A creation that cannot wait any longer is `unavailable`. */
export function groupCreations(store: Store, limits = GROUP_LIMITS): Store {
  /** In the order they came, which is also that in which their time runs out. */
  const waiting: Entry[] = []
  let waitingCreations = 0
  let isStoring = false
  let isWatched = false

  function take(): Entry | undefined {
    const entry = waiting.shift()
    waitingCreations -= entry?.creations.length ?? 0
    return entry
  }

  function nextBatch(): Entry[] {
    const batch: Entry[] = []
    let size = 0
    while (waiting[0] !== undefined) {
      size += waiting[0].creations.length
      if (batch.length > 0 && size > limits.batch) break
      batch.push(take() as Entry)
    }
    return batch
  }

  async function storeAll(): Promise<void> {
    isStoring = true
    while (waiting.length > 0) {
      // All that is arriving in this turn of the event loop belongs to the batch, and so does what arrives in the next:
      // those who were just answered ask again, and would else form a second group that takes turns with the first.
      await nextTurn()
      await nextTurn()
      await storeBatch(store, nextBatch())
    }
    isStoring = false
  }

  /** One timer for all: when it rings, it looks who is next. */
  function watch(): void {
    const next = waiting[0]
    if (isWatched || next === undefined) return
    isWatched = true
    setTimeout(ring, next.until - performance.now()).unref()
  }

  function ring(): void {
    isWatched = false
    while (waiting[0] !== undefined && waiting[0].until <= performance.now()) take()?.reject(tooLate())
    watch()
  }

  return {
    ...store,
    createAnimals(creations) {
      if (waitingCreations + creations.length > limits.waiting) return Promise.reject(tooLate())
      return new Promise((resolve, reject) => {
        waiting.push({ creations, resolve, reject, until: performance.now() + limits.waitMs })
        waitingCreations += creations.length
        watch()
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
