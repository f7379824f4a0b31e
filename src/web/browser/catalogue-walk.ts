// Walks through the whole catalogue in the background, one request at a time, to count the animals of each status and to
// search their names. Animals never change, so the tab keeps them, if its storage has room: after a reload the walk continues
// where it was.

import { type Animal, type AnimalStore, AnimalStoreError } from '../../../client/src/animal-store.ts'
import { PAGE_LIMIT } from '../../animal.ts'
import { canonicalInteger } from '../../json.ts'
import { tabValue } from './browser-storage.ts'
import { type Pace, wait } from './pace.ts'

/** If there are more, only the first ones are walked, and the page says so. Walking this many takes 200 requests. */
export const MAX_WALKED = 20_000

/**
 * How many of the last animals are read again. Animals that clients add at the same time may appear out of id order, so
 * `catchUp` starts at the first of these.
 */
const OVERLAP = 50

/** How long to wait after a failure. */
const FIRST_PAUSE_MS = 5_000
const MAX_PAUSE_MS = 300_000

export interface Walked {
  readonly state: 'counting' | 'complete' | 'capped'
  /** The animals that were counted, by ascending id. */
  readonly animals: readonly Animal[]
}

export interface CatalogueWalkOptions {
  readonly pace: Pace
  /** More animals are counted and can be searched. `hasNew` is true if somebody has just added them. */
  readonly onProgress: (hasNew: boolean) => void
  /** Called with the error if a request fails, and without one if a request succeeds. */
  readonly onAnswer: (error?: AnimalStoreError) => void
}

export type CatalogueWalk = ReturnType<typeof createCatalogueWalk>

export function createCatalogueWalk({ pace, onProgress, onAnswer }: CatalogueWalkOptions) {
  const environment = document.querySelector('.environment')?.textContent ?? ''
  const stored = tabValue(`animal-store-stock-${environment}`)
  let walked: Walked = { state: 'counting', animals: [] }
  let source: { readonly store: AnimalStore; readonly signal: AbortSignal } | undefined
  let isCatchingUp = false

  /** Reads the animals after this id, and returns how many of them are new. */
  async function readPage(after: bigint | undefined): Promise<number> {
    if (source === undefined) throw new Error('the user is signed out')
    const { store, signal } = source
    const page = await store.listAnimals({ limit: PAGE_LIMIT.maximum, after, signal })
    signal.throwIfAborted()
    onAnswer()
    const known = new Set(walked.animals.slice(-OVERLAP).map(({ id }) => id))
    const added = page.animals.filter(({ id }) => !known.delete(id))
    if ([...known].some(id => after === undefined || id > after)) {
      // Animals are never deleted, so this is another catalogue at the same address.
      walked = { state: 'counting', animals: [] }
      return 0
    }
    const animals = [...walked.animals, ...added].sort(byId)
    const isCapped = animals.length > MAX_WALKED - (page.next === undefined ? 0 : 1)
    const state = isCapped ? 'capped' : page.next === undefined ? 'complete' : 'counting'
    walked = { state, animals: animals.slice(0, MAX_WALKED) }
    return added.length
  }

  async function walkOn(signal: AbortSignal): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS
    // The first request of a walk that continues reads the last animals again, to check that they are still there.
    let after = beforeLast(walked.animals)
    while (walked.state === 'counting') {
      try {
        await pace.untilVisible(signal)
        await readPage(after)
        after = walked.animals.at(-1)?.id
        pauseMs = FIRST_PAUSE_MS
        onProgress(false)
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

  addEventListener('pagehide', () => {
    if (source !== undefined) stored.save(toText(walked))
  })

  return {
    get walked() {
      return walked
    },

    /** Continues the walk of this tab, or begins one. Stops when the signal is aborted. */
    start(store: AnimalStore, signal: AbortSignal): void {
      source = { store, signal }
      walked = parseWalked(stored.load()) ?? walked
      onProgress(false)
      walkOn(signal)
    },

    /**
     * Counts the animals that were added since the last count, and returns their number. Returns undefined if that is
     * unknown: while it is still counting, or if the catalogue is too large.
     */
    async catchUp(): Promise<number | undefined> {
      if (walked.state !== 'complete' || isCatchingUp || source === undefined) return undefined
      const { length } = walked.animals
      isCatchingUp = true
      try {
        const added = await readPage(beforeLast(walked.animals))
        if (walked.animals.length !== length) onProgress(added > 0)
        walkOn(source.signal)
        return added
      } finally {
        isCatchingUp = false
      }
    },

    /** Forgets everything. */
    clear(): void {
      source = undefined
      walked = { state: 'counting', animals: [] }
      stored.clear()
    },
  }
}

/** A page after this id has the last animals, unless the address has another catalogue now. */
function beforeLast(animals: readonly Animal[]): bigint | undefined {
  const first = animals.at(-OVERLAP) ?? animals[0]
  // No id precedes the smallest one.
  return first && canonicalInteger(String(first.id - 1n))
}

/** JSON has no bigint, so ids are stored as digits. */
function toText({ state, animals }: Walked): string {
  return JSON.stringify({ state, animals }, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

/** Returns undefined if the text is not what this page has stored. */
function parseWalked(text: string | undefined): Walked | undefined {
  try {
    const { state, animals }: { state: Walked['state']; animals: Record<keyof Animal, string>[] } =
      JSON.parse(text ?? '')
    return {
      state,
      animals: animals.map(({ id, name, categoryId, ...status }) => ({
        id: BigInt(id),
        name,
        categoryId: BigInt(categoryId),
        ...(status as Pick<Animal, 'status'>),
      })),
    }
  } catch {
    return undefined
  }
}

function byId(one: Animal, other: Animal): number {
  return one.id < other.id ? -1 : 1
}
