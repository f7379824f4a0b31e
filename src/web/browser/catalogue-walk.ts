// Walks through the whole catalogue in the background, one request at a time, to count the animals of each status and to
// search their names. Animals never change, so a count is kept for this tab: after a reload it continues where it was.
// Names are kept in memory only, so the first search after a reload walks again.

import { type Animal, type AnimalStore, AnimalStoreError } from '../../../client/src/animal-store.ts'
import { PAGE_LIMIT } from '../../animal.ts'
import { canonicalInteger } from '../../json.ts'
import { tabValue } from './browser-storage.ts'
import { KINDS, type Kind } from './location.ts'
import { type Pace, wait } from './pace.ts'

/** If there are more, only the first ones are walked, and the page says so. Walking this many takes 200 requests. */
export const MAX_WALKED = 20_000

/**
 * How many of the last ids are remembered. Animals that clients add at the same time may appear out of id order, so
 * `catchUp` starts again at the first of these ids.
 */
const OVERLAP = 50

/** How long to wait after a failure. */
const FIRST_PAUSE_MS = 5_000
const MAX_PAUSE_MS = 300_000

export interface Count {
  readonly state: 'counting' | 'complete' | 'capped'
  readonly total: number
  readonly of: Readonly<Record<Kind, number>>
}

interface Walk extends Count {
  state: Count['state']
  total: number
  readonly of: Record<Kind, number>
  /** The largest id of each kind, as digits. */
  readonly lastOf: Partial<Record<Kind, string>>
  /** The last ids, in ascending order. */
  lastIds: readonly bigint[]
  /** All animals by ascending id. Undefined for a count that was made before the page was reloaded. */
  readonly animals: Animal[] | undefined
}

export interface CatalogueWalk {
  readonly count: Count
  /** How far the names are known. */
  readonly searched: Count
  /** The animals whose names are known, by ascending id. */
  readonly animals: readonly Animal[]
  /** The largest id that was counted, of this kind or of all. Undefined if there is none. */
  lastId(kind: Kind | undefined): bigint | undefined
  /** Continues the count of this tab, or begins one. Stops when the signal is aborted. */
  start(store: AnimalStore, signal: AbortSignal): void
  /** Walks again if names are not known. */
  findNames(): void
  /** Resolves when all names are known. */
  untilSearched(signal: AbortSignal): Promise<void>
  /**
   * Counts the animals that were added since the last count, and returns their number. Returns undefined if that is
   * unknown: while it is still counting, or if the catalogue is too large.
   */
  catchUp(): Promise<number | undefined>
  /** Forgets everything. */
  clear(): void
}

export interface CatalogueWalkOptions {
  readonly pace: Pace
  /** More animals are counted or can be searched. `hasNew` is true if somebody has just added them. */
  readonly onProgress: (hasNew: boolean) => void
  /** Called with the error if a request fails, and without one if a request succeeds. */
  readonly onAnswer: (error?: AnimalStoreError) => void
}

export function createCatalogueWalk({ pace, onProgress, onAnswer }: CatalogueWalkOptions): CatalogueWalk {
  const environment = document.querySelector('.environment')?.textContent ?? ''
  const stored = tabValue(`animal-store-stock-${environment}`)
  let counted = newWalk()
  /** The walk that collects names. It is the same as `counted`, except after a reload. */
  let named = counted
  let source: { readonly store: AnimalStore; readonly signal: AbortSignal } | undefined
  let isCatchingUp = false
  /** Resolves when the walk has come further. */
  let progress = Promise.withResolvers<void>()

  /** Returns the number of new animals, and whether they are the last ones. */
  async function readPage(walk: Walk, after: bigint | undefined) {
    if (source === undefined) throw new Error('the user is signed out')
    const { store, signal } = source
    const { animals, next } = await store.listAnimals({ limit: PAGE_LIMIT.maximum, after, signal })
    signal.throwIfAborted()
    onAnswer()
    const ids = new Set(animals.map(({ id }) => id))
    const expected = walk.lastIds.filter(id => after !== undefined && id > after)
    if (!expected.every(id => ids.has(id))) {
      // Animals are never deleted, so this is another catalogue at the same address.
      Object.assign(walk, newWalk())
      return { added: 0, isLast: false }
    }
    const added = addAnimals(walk, animals)
    const isLast = next === undefined
    if (!isLast && walk.total >= MAX_WALKED) walk.state = 'capped'
    return { added, isLast }
  }

  async function walkOn(walk: Walk, signal: AbortSignal): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS
    // The first request of a count that continues reads the last animals again, to check that they are still there.
    let after = beforeLastIds(walk)
    // A search may have replaced this walk by one that collects names.
    while (walk.state === 'counting' && (walk === counted || walk === named)) {
      try {
        await pace.untilIdle(signal)
        const { isLast } = await readPage(walk, after)
        if (isLast && walk.state === 'counting') walk.state = 'complete'
        after = walk.lastIds.at(-1)
        pauseMs = FIRST_PAUSE_MS
        showProgress(walk)
      } catch (error) {
        if (signal.aborted) return
        if (!(error instanceof AnimalStoreError)) throw error
        onAnswer(error)
        // Loading the list reports a key that is no longer accepted.
        if (error.code === 'unauthorized') return
        await wait(Math.max(pauseMs, (error.retryAfterSeconds ?? 0) * 1_000), signal).catch(() => {})
        pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)
      }
    }
  }

  function showProgress(walk: Walk, hasNew = false): void {
    if (walk === named && walk.animals !== undefined && walk.state !== 'counting') counted = named
    progress.resolve()
    progress = Promise.withResolvers()
    stored.save(toText(counted))
    onProgress(hasNew)
  }

  async function catchUp(): Promise<number | undefined> {
    if (counted.state !== 'complete' || isCatchingUp || source === undefined) return undefined
    const walk = counted
    isCatchingUp = true
    try {
      const { added, isLast } = await readPage(walk, beforeLastIds(walk))
      if (!isLast && walk.state === 'complete') walk.state = 'counting'
      if (walk.state === 'counting') walkOn(walk, source.signal)
      if (added > 0 || walk.state !== 'complete') showProgress(walk, added > 0)
      return added
    } finally {
      isCatchingUp = false
    }
  }

  return {
    get count() {
      return counted
    },
    get searched() {
      return named
    },
    get animals() {
      return named.animals ?? []
    },
    lastId(kind) {
      const ids = kind === undefined ? Object.values(counted.lastOf) : [counted.lastOf[kind] ?? []].flat()
      return ids.map(BigInt).sort(compare).at(-1)
    },
    start(store, signal) {
      source = { store, signal }
      counted = parseWalk(stored.load()) ?? newWalk()
      named = counted
      onProgress(false)
      if (counted.state === 'counting') walkOn(counted, signal)
    },
    findNames() {
      if (source === undefined || named.animals !== undefined) return
      named = newWalk()
      // One walk counts and collects names.
      if (counted.state === 'counting') counted = named
      walkOn(named, source.signal)
    },
    async untilSearched(signal) {
      const aborted = new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason)),
      )
      aborted.catch(() => {})
      while (named.state === 'counting' || named.animals === undefined)
        await Promise.race([progress.promise, aborted])
      signal.throwIfAborted()
    },
    catchUp,
    clear() {
      source = undefined
      counted = newWalk()
      named = counted
      stored.clear()
    },
  }
}

/** A page after this id has all of the last ids, unless the address has another catalogue now. */
function beforeLastIds({ lastIds: [first] }: Walk): bigint | undefined {
  // No id precedes the smallest one.
  return first === undefined ? undefined : canonicalInteger(String(first - 1n))
}

function newWalk(): Walk {
  const of = { available: 0, pending: 0, sold: 0, none: 0 }
  return { state: 'counting', total: 0, of, lastOf: {}, lastIds: [], animals: [] }
}

/** Returns how many of the animals were not known. */
function addAnimals(walk: Walk, animals: readonly Animal[]): number {
  const known = new Set(walk.lastIds)
  const added = animals.filter(({ id }) => !known.has(id))
  const counted = added.slice(0, MAX_WALKED - walk.total)
  for (const { id, status = 'none' } of counted) {
    walk.of[status]++
    if (id > BigInt(walk.lastOf[status] ?? id - 1n)) walk.lastOf[status] = String(id)
  }
  walk.total += counted.length
  walk.lastIds = [...walk.lastIds, ...counted.map(({ id }) => id)].sort(compare).slice(-OVERLAP)
  walk.animals?.push(...counted)
  // Animals that were added at the same time may appear out of order.
  const last = walk.animals?.at(-counted.length - 1)
  if (last !== undefined && counted.some(({ id }) => id < last.id)) walk.animals?.sort(byId)
  if (counted.length < added.length) walk.state = 'capped'
  return added.length
}

/** JSON has no bigint, so ids are stored as digits. */
function toText({ state, total, of, lastOf, lastIds }: Walk): string {
  return JSON.stringify({ state, total, of, lastOf, lastIds: lastIds.map(String) })
}

/** Returns undefined if the text is not a count that this page has stored. */
function parseWalk(text: string | undefined): Walk | undefined {
  try {
    const { state, total, of, lastOf, lastIds } = JSON.parse(text ?? '')
    const isComplete = KINDS.every(kind => Number.isInteger(of[kind])) && Number.isInteger(total)
    return isComplete
      ? { state, total, of, lastOf, lastIds: lastIds.map(BigInt), animals: undefined }
      : undefined
  } catch {
    return undefined
  }
}

function byId(one: Animal, other: Animal): number {
  return compare(one.id, other.id)
}

function compare(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0
}
