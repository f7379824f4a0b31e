// Counts the animals of each status in the whole catalogue, by walking it in the background, one request at a time.

import { type Animal, type AnimalStore, AnimalStoreError } from '../../../client/src/animal-store.ts'
import { PAGE_LIMIT, STATUSES } from '../../animal.ts'
import { untilVisible, wait } from './waiting.ts'

/** If there are more, only the first ones are counted, and the page says so. Counting this many takes 200 requests. */
export const MAX_COUNTED = 20_000

/**
 * How many of the last ids are remembered. Animals that clients add at the same time may appear out of id order, so
 * `catchUp` starts again at the first of these ids.
 */
const OVERLAP = 50

/** How long to wait before the next request, after a request and all its retries by the client have failed. */
const FIRST_PAUSE_MS = 15_000
const MAX_PAUSE_MS = 300_000

export const KINDS = [...STATUSES, 'none'] as const
export type Kind = (typeof KINDS)[number]

export interface Count {
  readonly state: 'counting' | 'complete' | 'capped'
  readonly total: number
  readonly of: Readonly<Record<Kind, number>>
}

export interface StockCount {
  /** Counts the whole catalogue again, from the beginning. Stops early if the signal is aborted. */
  start(store: AnimalStore, signal: AbortSignal): Promise<void>
  /**
   * Counts the animals that were added since the last count, and returns their number. Returns undefined if that is
   * unknown: while it is still counting, or if the catalogue is too large.
   */
  catchUp(store: AnimalStore, signal: AbortSignal): Promise<number | undefined>
}

export interface StockCountOptions {
  readonly onChange: (count: Count) => void
  /** Called if a request fails. It is tried again after a pause. */
  readonly onFailure: () => void
}

export function createStockCount({ onChange, onFailure }: StockCountOptions): StockCount {
  let state: Count['state'] = 'counting'
  let total = 0
  let of: Record<Kind, number> = { available: 0, pending: 0, sold: 0, none: 0 }
  /** The last ids that were counted, in ascending order. */
  let lastIds: readonly bigint[] = []
  let isCatchingUp = false

  function add(animals: readonly Animal[]): number {
    const known = new Set(lastIds)
    const added = animals.filter(({ id }) => !known.has(id))
    const counted = added.slice(0, MAX_COUNTED - total)
    for (const { status = 'none' } of counted) of[status]++
    total += counted.length
    lastIds = [...lastIds, ...counted.map(({ id }) => id)].sort(compare).slice(-OVERLAP)
    if (counted.length < added.length) state = 'capped'
    return added.length
  }

  async function countPage(store: AnimalStore, after: bigint | undefined, signal: AbortSignal) {
    const { animals, next } = await store.listAnimals({ limit: PAGE_LIMIT.maximum, after, signal })
    signal.throwIfAborted()
    const added = add(animals)
    const isLast = next === undefined
    if (!isLast && total >= MAX_COUNTED) state = 'capped'
    return { added, isLast }
  }

  async function countAll(store: AnimalStore, signal: AbortSignal): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS
    while (state === 'counting') {
      await untilVisible(signal)
      try {
        const { isLast } = await countPage(store, lastIds.at(-1), signal)
        if (isLast && state === 'counting') state = 'complete'
        onChange({ state, total, of })
        pauseMs = FIRST_PAUSE_MS
      } catch (error) {
        if (!(error instanceof AnimalStoreError) || error.code === 'unauthorized') throw error
        onFailure()
        await wait(pauseMs, signal)
        pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)
      }
    }
  }

  return {
    async start(store, signal) {
      state = 'counting'
      total = 0
      of = { available: 0, pending: 0, sold: 0, none: 0 }
      lastIds = []
      onChange({ state, total, of })
      try {
        await countAll(store, signal)
      } catch (error) {
        // Loading the list reports a key that is no longer accepted.
        if (!signal.aborted && !(error instanceof AnimalStoreError)) throw error
      }
    },

    async catchUp(store, signal) {
      if (state !== 'complete' || isCatchingUp) return undefined
      isCatchingUp = true
      try {
        const { added, isLast } = await countPage(store, lastIds[0], signal)
        if (added === 0) return 0
        if (!isLast && state === 'complete') {
          state = 'counting'
          countAll(store, signal).catch(() => {})
        }
        onChange({ state, total, of })
        return added
      } finally {
        isCatchingUp = false
      }
    },
  }
}

function compare(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0
}
