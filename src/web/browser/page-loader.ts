// Loads the pages of the list. A new request cancels the previous one, and requests are retried while the server cannot
// be reached.

import { type AnimalStore, AnimalStoreError, type Page } from '../../../client/src/animal-store.ts'
import type { AnimalTable } from './animal-table.ts'
import type { Navigation } from './navigation.ts'
import { type Notice, SLOW_MS } from './notice.ts'
import { findPreviousPage } from './previous-page.ts'
import type { Session } from './session.ts'

const FIRST_RETRY_MS = 1_000
const MAX_RETRY_MS = 15_000

const OFFLINE = 'You are offline. This page continues when the network is back.'

export interface PageLoaderOptions {
  readonly session: Session
  readonly navigation: Navigation
  readonly table: AnimalTable
  readonly notice: Notice
  readonly onLoaded: (page: Page) => void
}

export interface PageLoader {
  /** Loads the page that the URL names. */
  load(): Promise<void>
  /** Searches for the previous page and goes there. */
  goToPrevious(): Promise<void>
  /** Cancels the request in flight and the next retry. */
  stop(): void
}

export function createPageLoader(options: PageLoaderOptions): PageLoader {
  const { session, navigation, table, notice, onLoaded } = options
  let controller = new AbortController()
  let retryTimer: ReturnType<typeof setTimeout> | undefined
  let failures = 0

  function cancel(): void {
    controller.abort()
    clearTimeout(retryTimer)
  }

  async function run(request: (store: AnimalStore, signal: AbortSignal) => Promise<void>): Promise<void> {
    if (session.store === undefined) return
    cancel()
    controller = new AbortController()
    const { signal } = controller
    try {
      await request(session.store, signal)
    } catch (error) {
      if (!signal.aborted) showFailure(error)
    }
  }

  function load(): Promise<void> {
    return run(async (store, signal) => {
      const slowTimer = setTimeout(
        () => notice.show('This takes longer than usual. Still waiting …'),
        SLOW_MS,
      )
      try {
        const urlError = navigation.readUrl()
        table.showLoading(navigation.current.limit)
        // An invalid URL is reported only after the server has accepted the key.
        const query = urlError === undefined ? navigation.current : { limit: 1 }
        const page = await store.listAnimals({ ...query, signal })
        session.showCatalogue()
        failures = 0
        notice.hide()
        if (urlError === undefined) onLoaded(page)
        else table.showError(urlError)
      } finally {
        clearTimeout(slowTimer)
      }
    })
  }

  function showFailure(error: unknown): void {
    if (!(error instanceof AnimalStoreError)) showError(`Something went wrong on this page: ${error}`)
    else if (error.code === 'unauthorized') session.signOut('This key is not accepted here.')
    else if (!isTemporary(error)) showError(error.message)
    else if (session.isCatalogueShown) retryLater(error)
    else session.signOut(`${describe(error)} Try again.`)
  }

  function showError(message: string): void {
    session.showCatalogue()
    notice.hide()
    table.showError(message)
  }

  /** Doubles the delay after each failure. The button, or the browser going online again, retries immediately. */
  function retryLater(error: AnimalStoreError): void {
    const delay = Math.min(FIRST_RETRY_MS * 2 ** failures, MAX_RETRY_MS)
    failures++
    notice.show(navigator.onLine ? `${describe(error)} Trying again …` : OFFLINE, { canRetry: true })
    retryTimer = setTimeout(load, delay)
  }

  addEventListener('online', () => {
    notice.hide()
    load()
  })
  addEventListener('offline', () => notice.show(OFFLINE))

  return {
    load,
    goToPrevious: () =>
      run(async (store, signal) =>
        navigation.goTo(await findPreviousPage(store, navigation.current, signal)),
      ),
    stop() {
      cancel()
      failures = 0
    },
  }
}

function isTemporary({ status }: AnimalStoreError): boolean {
  return status === undefined || status >= 500 || status === 429
}

function describe({ status }: AnimalStoreError): string {
  return status === undefined ? 'The server cannot be reached.' : 'The server cannot answer right now.'
}
