// The line above the list: how many animals it shows of how many, and how far a search is.

import type { Inventory } from '../../../client/src/animal-store.ts'
import { formatNumber } from '../../count.ts'
import { find, keepFocus } from './elements.ts'
import type { ListPage } from './list-page.ts'
import { isFirstPage } from './location.ts'
import type { Pace } from './pace.ts'
import { countOf } from './stock.ts'

/** After this time, a search says how far it is. */
const PROGRESS_MS = 1_000

/** After each time that it has examined this many animals, a search asks whether it should go on. */
const ASK_AFTER = 100_000

interface ListStatusOptions {
  readonly pace: Pace
  readonly onClear: () => void
  /** A search that takes long has found these animals so far. It is paused, or goes on. */
  readonly onPart: (found: ListPage, isPaused: boolean) => void
}

export function createListStatus({ pace, onClear, onPart }: ListStatusOptions) {
  const text = find('#list-status span', HTMLElement)
  const stopButton = find('#stop-search', HTMLButtonElement)
  const clearButton = find('#clear-search', HTMLButtonElement)
  let onStop = () => {}

  function show(shown: string, stopLabel?: string): void {
    // Otherwise a screen reader would announce the same text again.
    if (text.textContent !== shown) text.textContent = shown
    if (stopLabel === undefined) keepFocus(stopButton)
    stopButton.textContent = stopLabel ?? ''
    stopButton.hidden = stopLabel === undefined
  }

  stopButton.addEventListener('click', () => onStop())
  clearButton.addEventListener('click', onClear)

  return {
    /** Shows nothing if no page is shown. The page has only animals that are in the list. */
    showPage(page: ListPage | undefined, inventory: Inventory | undefined): void {
      clearButton.hidden = page?.location.search === undefined
      show(page === undefined ? '' : describePage(page, inventory))
    },

    /**
     * Returns a function that is called before each further request of a search (list-page.ts). It waits while the search is
     * stopped, and leaves half of the rate limit to the user.
     */
    watchSearch(signal: AbortSignal): (found: ListPage, examined: number) => Promise<void> {
      // What the search before this one has shown.
      if (!stopButton.hidden) show('')
      let latest: { readonly found: ListPage; readonly examined: number } | undefined
      let isSlow = false
      let askAfter = ASK_AFTER
      let paused: PromiseWithResolvers<void> | undefined

      function showProgress(): void {
        if (latest === undefined || signal.aborted) return
        const { found, examined } = latest
        const count = formatNumber(examined)
        onPart(found, paused !== undefined)
        clearButton.hidden = found.location.search === undefined
        if (paused === undefined) show(`Searching … ${count} so far`, 'Stop')
        else
          show(
            `Searched ${count} animals so far, ${formatNumber(found.animals.length)} found.`,
            'Continue searching',
          )
      }

      function pause(): void {
        paused = Promise.withResolvers()
        showProgress()
      }

      const timer = setTimeout(() => {
        isSlow = true
        showProgress()
      }, PROGRESS_MS)
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        paused?.resolve()
      })
      onStop = () => {
        if (paused === undefined) return pause()
        paused.resolve()
        paused = undefined
        showProgress()
      }
      return async (found, examined) => {
        latest = { found, examined }
        if (examined >= askAfter) {
          askAfter = examined + ASK_AFTER
          pause()
        } else if (isSlow) showProgress()
        await paused?.promise
        await pace.untilSpare(signal)
        signal.throwIfAborted()
      }
    },
  }
}

/** The API does not count the matches of a search: only a list without further pages shows all of them. */
function describePage(
  { animals, location, previous, next }: ListPage,
  inventory: Inventory | undefined,
): string {
  const count = formatNumber(animals.length)
  if (location.search !== undefined) {
    if (next !== undefined) return `${count} shown, there may be more`
    return previous === undefined ? `${count} found` : `${count} shown, the last ones`
  }
  if (isFirstPage(location))
    return inventory === undefined ? '' : `${count} of ${formatNumber(countOf(inventory, location.status))}`
  const [first, last] = [animals[0], animals.at(-1)]
  if (first === undefined) return ''
  return first === last ? `id ${first.id}` : `ids ${first.id} to ${last?.id}`
}
