// Loads the pages of the list. A new request cancels the previous one, and requests are retried while the server cannot
// be reached.

import { type AnimalStore, AnimalStoreError } from '../../../client/src/animal-store.ts'
import { fetchListPage, type ListPage } from './list-page.ts'
import type { Navigation } from './navigation.ts'
import { type Notice, SLOW_MS } from './notice.ts'
import type { Session } from './session.ts'

const FIRST_RETRY_MS = 1_000
const MAX_RETRY_MS = 15_000

const OFFLINE = 'You are offline. This page continues when the network is back.'

export interface PageLoaderOptions {
  readonly session: Session
  readonly navigation: Navigation
  readonly notice: Notice
  readonly onLoading: () => void
  readonly onLoaded: (page: ListPage) => void
  /** The page that is shown already, with animals that may be new. */
  readonly onRefreshed: (page: ListPage) => void
  /** The page cannot be loaded, and trying again would not help. */
  readonly onError: (message: string) => void
}

export interface PageLoader {
  /** Loads the page that the URL names. */
  load(): Promise<void>
  /** Reloads the current page without a sign that it is loading. Does nothing if another page is being loaded. */
  refresh(): Promise<void>
  /** True if the last refresh failed because the server is away. A notice says so until a request succeeds. */
  readonly isAway: boolean
  /** Cancels the request in flight and the next retry. */
  stop(): void
}

export function createPageLoader(options: PageLoaderOptions): PageLoader {
  const { session, navigation, notice, onLoading, onLoaded, onRefreshed, onError } = options
  let controller = new AbortController()
  let retryTimer: ReturnType<typeof setTimeout> | undefined
  let failures = 0
  /** True while the user waits for a page, or for the next attempt to load one. */
  let isWaiting = false
  let isAway = false

  function cancel(): void {
    controller.abort()
    clearTimeout(retryTimer)
  }

  async function run(request: (store: AnimalStore, signal: AbortSignal) => Promise<void>): Promise<unknown> {
    if (session.store === undefined) return undefined
    cancel()
    controller = new AbortController()
    const { signal } = controller
    try {
      await request(session.store, signal)
      return undefined
    } catch (error) {
      return signal.aborted ? undefined : error
    }
  }

  async function load(): Promise<void> {
    isWaiting = true
    const error = await run(async (store, signal) => {
      const slowTimer = setTimeout(
        () => notice.show('This takes longer than usual. Still waiting …'),
        SLOW_MS,
      )
      try {
        const urlError = navigation.readUrl()
        onLoading()
        // An invalid URL is reported only after the server has accepted the key.
        if (urlError === undefined) showPage(await fetchListPage(store, navigation.current, signal))
        else await store.listAnimals({ limit: 1, signal })
        session.showCatalogue()
        isWaiting = false
        isAway = false
        failures = 0
        notice.hide()
        if (urlError !== undefined) onError(urlError)
      } finally {
        clearTimeout(slowTimer)
      }
    })
    if (error !== undefined) showFailure(error)
  }

  function showPage(page: ListPage): void {
    session.showCatalogue()
    if (page.location !== navigation.current) navigation.replace(page.location)
    onLoaded(page)
  }

  async function refresh(): Promise<void> {
    if (isWaiting) return
    const { current } = navigation
    const error = await run(async (store, signal) => {
      onRefreshed(await fetchListPage(store, current, signal))
      if (isAway) notice.hide()
      isAway = false
    })
    if (error instanceof AnimalStoreError) showBackgroundFailure(error)
  }

  /** Reports only a rejected key and a server that is away, because nobody waits. The next refresh may succeed. */
  function showBackgroundFailure(error: AnimalStoreError): void {
    if (error.code === 'unauthorized') showFailure(error)
    if (!isServerAway(error)) return
    isAway = true
    showRetrying(error)
  }

  function showFailure(error: unknown): void {
    if (!(error instanceof AnimalStoreError)) showError(`Something went wrong on this page: ${error}`)
    else if (error.code === 'unauthorized') session.signOut('This key is not accepted here.')
    else if (!isTemporary(error)) showError(error.message)
    else if (session.isCatalogueShown) retryLater(error)
    else session.failSignIn(`${describe(error)} Try again.`)
  }

  function showError(message: string): void {
    isWaiting = false
    session.showCatalogue()
    notice.hide()
    onError(message)
  }

  /** Doubles the delay after each failure. The button, or the browser going online again, retries immediately. */
  function retryLater(error: AnimalStoreError): void {
    const delay = Math.min(FIRST_RETRY_MS * 2 ** failures, MAX_RETRY_MS)
    failures++
    showRetrying(error)
    retryTimer = setTimeout(load, delay)
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
    get isAway() {
      return isAway
    },
    stop() {
      cancel()
      isWaiting = false
      isAway = false
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
