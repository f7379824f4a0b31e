// Loads the pages of the list. A new request cancels the previous one, and requests are retried while the server cannot
// be reached.

import { type AnimalStore, AnimalStoreError, type Page } from '../../../client/src/animal-store.ts'
import { describeOutage, isServerUnavailable, isTemporary } from './failures.ts'
import { countOf } from './inventory-bar.ts'
import { findListPage, type ListPage, type ListPageOptions, toRereadOptions } from './list-page.ts'
import { type Notice, SLOW_MS } from './notice.ts'
import type { Session } from './session.ts'
import type { PageState } from './state.ts'

const FIRST_RETRY_SECONDS = 1
const MAX_RETRY_SECONDS = 15

const OFFLINE = 'You are offline. This page continues when the network is back.'

interface PageLoaderOptions {
  readonly state: PageState
  readonly session: Session
  readonly notice: Notice
  /** Shows how far a search is, until the signal is aborted. */
  readonly watchSearch: (signal: AbortSignal) => ListPageOptions['beforeMore']
  /** Called again when it takes long. */
  readonly onLoading: (isLong: boolean) => void
  readonly onLoaded: (page: ListPage) => void
  /** The animals of the page that is shown already, as they are now, and others that may be new. */
  readonly onReread: (read: Page) => void
  /** The page cannot be loaded, and trying again would not help. */
  readonly onError: (message: string) => void
}

export function createPageLoader(options: PageLoaderOptions) {
  const { state, session, notice, watchSearch, onLoading, onLoaded, onReread, onError } = options
  let controller = new AbortController()
  let cancelRetry = () => {}
  let slowTimer: ReturnType<typeof setTimeout> | undefined
  let failures = 0

  function cancel(): void {
    controller.abort()
    cancelRetry()
    clearTimeout(slowTimer)
  }

  /** Replaces the request in flight. Returns the error if the request fails. */
  async function run(request: (store: AnimalStore, signal: AbortSignal) => Promise<void>): Promise<unknown> {
    const { store } = session
    if (store === undefined) return undefined
    cancel()
    controller = new AbortController()
    const { signal } = controller
    try {
      await request(store, signal)
      return undefined
    } catch (error) {
      return signal.aborted ? undefined : error
    }
  }

  async function findPage(store: AnimalStore, signal: AbortSignal): Promise<ListPage> {
    const search = new AbortController()
    const beforeMore = watchSearch(AbortSignal.any([signal, search.signal]))
    const { location } = state
    let requester: AnimalStore = store
    try {
      const page = await findListPage(location, {
        list: options => requester.listAnimals({ ...options, signal }),
        beforeMore(found, examined) {
          confirmKey()
          // A search that was interrupted would begin again.
          requester = session.retryingStore ?? store
          return beforeMore(found, examined)
        },
        isCountedEmpty: () =>
          state.inventory !== undefined && countOf(state.inventory, location.status) === 0n,
      })
      signal.throwIfAborted()
      return page
    } finally {
      search.abort()
    }
  }

  /** The server has accepted the key and answers. */
  function confirmKey(): void {
    session.acceptKey()
    state.isAway = false
    failures = 0
    notice.hide()
    clearTimeout(slowTimer)
  }

  /** Loads the page that the URL names. */
  async function load(): Promise<void> {
    const error = await run(async (store, signal) => {
      state.isWaiting = true
      slowTimer = setTimeout(() => {
        notice.show('This takes longer than usual. Still waiting …')
        onLoading(true)
      }, SLOW_MS)
      onLoading(false)
      const { urlProblem } = state
      // An invalid URL is reported only after the server has accepted the key.
      if (urlProblem !== undefined && !session.isCatalogueShown) await store.inventory({ signal })
      const page = urlProblem === undefined ? await findPage(store, signal) : undefined
      signal.throwIfAborted()
      confirmKey()
      state.isWaiting = false
      if (page !== undefined) onLoaded(page)
      else onError(urlProblem ?? '')
    })
    if (error !== undefined) showFailure(error)
  }

  /** Reads the page on the screen again, without a sign that it is loading. */
  async function reread(): Promise<void> {
    const { page } = state
    // A search that needs several requests is not repeated.
    if (state.isWaiting || page?.requests !== 1) return
    const error = await run(async (store, signal) => {
      if (page.animals.length === 0) {
        const found = await findPage(store, signal)
        if (found.animals.length > 0) onLoaded(found)
      } else {
        const read = await store.listAnimals({ ...toRereadOptions(page), signal })
        signal.throwIfAborted()
        // What was stored meanwhile is newer.
        if (state.page === page) onReread(read)
      }
      noteAnswer()
    })
    if (error instanceof AnimalStoreError) noteAnswer(error)
    else if (error !== undefined) throw error
  }

  /** Called after a request that nobody waits for. Reports only a rejected key and a server that is away. */
  function noteAnswer(error?: AnimalStoreError): void {
    if (error?.code === 'unauthorized') showFailure(error)
    if (error !== undefined && !isServerUnavailable(error)) return
    if (error !== undefined && !state.isWaiting) showRetrying(error)
    if (error === undefined && state.isAway && !state.isWaiting) notice.hide()
    state.isAway = error !== undefined
  }

  function showFailure(error: unknown): void {
    if (!(error instanceof AnimalStoreError)) showError(`Something went wrong on this page: ${error}`)
    else if (error.code === 'unauthorized') session.rejectKey()
    else if (!isTemporary(error)) showError(error.message)
    else if (session.isCatalogueShown) retryLater(error)
    else session.failSignIn(`${describeOutage(error)} Try again.`)
  }

  function showError(message: string): void {
    state.isWaiting = false
    session.acceptKey()
    notice.hide()
    onError(message)
  }

  /** Doubles the delay after each failure. The button, or the browser going online again, retries immediately. */
  function retryLater(error: AnimalStoreError): void {
    const delay = Math.min(FIRST_RETRY_SECONDS * 2 ** failures, MAX_RETRY_SECONDS)
    failures++
    clearTimeout(slowTimer)
    onLoading(true)
    const seconds = Math.max(delay, error.retryAfterSeconds ?? 0)
    cancelRetry = countDown(seconds, left => showRetrying(error, left), load)
  }

  function showRetrying(error: AnimalStoreError, seconds?: string): void {
    const action = { label: 'Try now', run: retry }
    if (navigator.onLine) notice.show(`${describeOutage(error)} Trying again …`, { seconds, action })
    else notice.show(OFFLINE, { action })
  }

  /** Rows that nobody waits for stay where they are. */
  function retry(): void {
    if (state.isWaiting || state.page === undefined) load()
    else reread()
  }

  addEventListener('online', () => {
    notice.hide()
    retry()
  })
  addEventListener('offline', () => notice.show(OFFLINE))

  return {
    load,
    reread,
    noteAnswer,
    /** Cancels the request in flight and the next retry. */
    stop(): void {
      cancel()
      state.isWaiting = false
      state.isAway = false
      failures = 0
      // Hides the notice about retries, because nothing is retried any more. OFFLINE stays: signing in would fail too.
      if (navigator.onLine) notice.hide()
    },
  }
}

/** Shows the seconds that are left, then calls `onEnd`. Returns a function that cancels this. */
function countDown(seconds: number, show: (text: string) => void, onEnd: () => void): () => void {
  const endMs = performance.now() + seconds * 1_000
  const timer = setInterval(tick, 1_000)

  function tick(): void {
    const left = Math.round((endMs - performance.now()) / 1_000)
    show(`${Math.max(left, 0)} s`)
    if (left > 0) return
    clearInterval(timer)
    onEnd()
  }

  tick()
  return () => clearInterval(timer)
}
