// Loads the pages of the list. A new request cancels the previous one, and requests are retried while the server cannot
// be reached.

import { type AnimalStore, AnimalStoreError, type ListOptions } from '../../../client/src/animal-store.ts'
import { findListPage, isSearch, type ListPage } from './location.ts'
import { type Notice, SLOW_MS } from './notice.ts'
import type { Session } from './session.ts'
import type { PageState } from './state.ts'

const FIRST_RETRY_MS = 1_000
const MAX_RETRY_MS = 15_000

const OFFLINE = 'You are offline. This page continues when the network is back.'

export interface PageLoaderOptions {
  readonly state: PageState
  readonly session: Session
  readonly notice: Notice
  /** Lists animals that the page itself has to find. */
  readonly search: Parameters<typeof findListPage>[0]
  readonly onLoading: () => void
  /** The attempt to load has failed. Another one follows. */
  readonly onPause: () => void
  readonly onLoaded: (page: ListPage) => void
  /** The page that is shown already, with animals that may be new. */
  readonly onRefreshed: (page: ListPage) => void
  /** The page cannot be loaded, and trying again would not help. */
  readonly onError: (message: string) => void
}

export function createPageLoader(options: PageLoaderOptions) {
  const { state, session, notice, search, onLoading, onPause, onLoaded, onRefreshed, onError } = options
  let controller = new AbortController()
  let retryTimer: ReturnType<typeof setTimeout> | undefined
  let failures = 0

  function cancel(): void {
    controller.abort()
    clearTimeout(retryTimer)
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

  function findPage(store: AnimalStore, signal: AbortSignal): Promise<ListPage> {
    const list = (options: ListOptions) => store.listAnimals({ ...options, signal })
    return findListPage(isSearch(state.location) ? search : list, state.location)
  }

  /** Loads the page that the URL names. */
  async function load(): Promise<void> {
    state.isWaiting = true
    const error = await run(async (store, signal) => {
      const slowTimer = setTimeout(
        () => notice.show('This takes longer than usual. Still waiting …'),
        SLOW_MS,
      )
      try {
        onLoading()
        const { urlProblem, location } = state
        const needsRequest = urlProblem === undefined && !isSearch(location)
        // An invalid URL is reported, and a search begins, only after the server has accepted the key.
        if (!needsRequest && !session.isCatalogueShown) await store.listAnimals({ limit: 1, signal })
        const page = urlProblem === undefined ? await findPage(store, signal) : undefined
        signal.throwIfAborted()
        session.showCatalogue()
        state.isWaiting = false
        state.isAway = false
        failures = 0
        notice.hide()
        if (page !== undefined) onLoaded(page)
        else onError(urlProblem ?? '')
      } finally {
        clearTimeout(slowTimer)
      }
    })
    if (error !== undefined) showFailure(error)
  }

  /** Reloads the current page without a sign that it is loading. Does nothing if another page is being loaded. */
  async function refresh(): Promise<void> {
    if (state.isWaiting) return
    const error = await run(async (store, signal) => {
      const page = await findPage(store, signal)
      // A search sends no request, so it does not show that the server is back.
      if (state.isAway && isSearch(state.location)) await store.listAnimals({ limit: 1, signal })
      signal.throwIfAborted()
      onRefreshed(page)
      noteAnswer()
    })
    if (error instanceof AnimalStoreError) noteAnswer(error)
  }

  /** Called after a request that nobody waits for. Reports only a rejected key and a server that is away. */
  function noteAnswer(error?: AnimalStoreError): void {
    if (error?.code === 'unauthorized') showFailure(error)
    if (error !== undefined && !isServerAway(error)) return
    if (error !== undefined && !state.isWaiting) showRetrying(error)
    if (error === undefined && state.isAway && !state.isWaiting) notice.hide()
    state.isAway = error !== undefined
  }

  function showFailure(error: unknown): void {
    if (!(error instanceof AnimalStoreError)) showError(`Something went wrong on this page: ${error}`)
    else if (error.code === 'unauthorized') session.signOut('This key is not accepted here.')
    else if (!isTemporary(error)) showError(error.message)
    else if (session.isCatalogueShown) retryLater(error)
    else session.failSignIn(`${describe(error)} Try again.`)
  }

  function showError(message: string): void {
    state.isWaiting = false
    session.showCatalogue()
    notice.hide()
    onError(message)
  }

  /** Doubles the delay after each failure. The button, or the browser going online again, retries immediately. */
  function retryLater(error: AnimalStoreError): void {
    const delay = Math.min(FIRST_RETRY_MS * 2 ** failures, MAX_RETRY_MS)
    failures++
    onPause()
    showRetrying(error)
    retryTimer = setTimeout(load, Math.max(delay, (error.retryAfterSeconds ?? 0) * 1_000))
  }

  function showRetrying(error: AnimalStoreError): void {
    const text = navigator.onLine ? `${describe(error)} Trying again …` : OFFLINE
    notice.show(text, { action: { label: 'Try now', run: load } })
  }

  addEventListener('online', () => {
    notice.hide()
    load()
  })
  addEventListener('offline', () => notice.show(OFFLINE))

  return {
    load,
    refresh,
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

function isServerAway({ status }: AnimalStoreError): boolean {
  return status === undefined || status >= 500
}

function isTemporary(error: AnimalStoreError): boolean {
  return isServerAway(error) || error.status === 429
}

function describe({ status }: AnimalStoreError): string {
  if (status === undefined) return 'The server cannot be reached.'
  if (status === 429) return 'This key has sent too many requests.'
  return 'The server cannot answer right now.'
}
