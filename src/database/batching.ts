// Batches creations: those that arrive while one batch commits are stored together in the next one.

import { isUnavailable, type ServiceError, unavailable } from '../error.ts'
import type { Creation, Outcome, Store } from '../store.ts'

export interface BatchLimits {
  /** The most creations in one batch. */
  readonly size: number
  /** The most creations in the queue. Further ones are rejected at once. */
  readonly queueLength: number
  /** How long a creation may wait in the queue. */
  readonly queueTimeoutMs: number
}

/** Long enough for a disk that stalls briefly, and for an earlier batch that waits two seconds for a lock. */
export const BATCH_LIMITS: BatchLimits = { size: 256, queueLength: 4_096, queueTimeoutMs: 5_000 }

interface Entry {
  readonly creations: readonly Creation[]
  readonly resolve: (outcomes: Outcome[]) => void
  readonly reject: (error: unknown) => void
  readonly expiresAt: number
}

/** Returns the same store with `createAnimals` batched. A creation that waits too long is rejected with `unavailable`. */
export function batchCreations(store: Store, limits = BATCH_LIMITS): Store {
  /** In order of arrival, and therefore in order of expiry. */
  const queue: Entry[] = []
  let queued = 0
  let isStoring = false
  let hasTimer = false
  let onFullBatch = () => {}

  function dequeue(): Entry | undefined {
    const entry = queue.shift()
    queued -= entry?.creations.length ?? 0
    return entry
  }

  function nextBatch(): Entry[] {
    const batch: Entry[] = []
    let size = 0
    while (queue[0] !== undefined) {
      size += queue[0].creations.length
      if (batch.length > 0 && size > limits.size) break
      batch.push(dequeue() as Entry)
    }
    return batch
  }

  async function storeQueue(): Promise<void> {
    isStoring = true
    while (queue.length > 0) {
      if (queued < limits.size) await moreCreations()
      await storeBatch(store, nextBatch())
    }
    isStoring = false
  }

  /**
   * Waits for creations that arrive in this event-loop turn and the next. Clients that were just answered send their
   * next creation then. Otherwise they would form a second group, and the two groups would commit alternately.
   *
   * The wait ends as soon as a batch is full: under overload one turn can take seconds.
   */
  function moreCreations(): Promise<void> {
    return new Promise(resolve => {
      onFullBatch = resolve
      setImmediate(() => setImmediate(resolve))
    })
  }

  /** One timer serves the whole queue: it is set for the entry that expires first. */
  function startTimer(): void {
    const next = queue[0]
    if (hasTimer || next === undefined) return
    hasTimer = true
    setTimeout(rejectExpired, next.expiresAt - performance.now()).unref()
  }

  function rejectExpired(): void {
    hasTimer = false
    while (queue[0] !== undefined && queue[0].expiresAt <= performance.now()) dequeue()?.reject(overloaded())
    startTimer()
  }

  return {
    ...store,
    createAnimals(creations) {
      if (queued + creations.length > limits.queueLength) return Promise.reject(overloaded())
      return new Promise((resolve, reject) => {
        queue.push({ creations, resolve, reject, expiresAt: performance.now() + limits.queueTimeoutMs })
        queued += creations.length
        startTimer()
        if (!isStoring) storeQueue()
        if (queued >= limits.size) onFullBatch()
      })
    },
  }
}

async function storeBatch(store: Store, batch: readonly Entry[]): Promise<void> {
  // All entries of the queue may have expired meanwhile.
  if (batch.length === 0) return
  try {
    const outcomes = await store.createAnimals(batch.flatMap(({ creations }) => creations))
    let from = 0
    for (const { creations, resolve } of batch) {
      resolve(outcomes.slice(from, from + creations.length))
      from += creations.length
    }
  } catch (error) {
    if (isUnavailable(error) || batch.length === 1) {
      for (const { reject } of batch) reject(error)
    } else {
      // One creation caused the failure: stored one by one, only that one fails.
      for (const entry of batch) await storeBatch(store, [entry])
    }
  }
}

function overloaded(): ServiceError {
  return unavailable(undefined, 'The animal could not be added in time. Try again shortly.')
}
