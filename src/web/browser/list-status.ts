// The line above the list: how many animals it shows of how many, and how far a search is.

import type { Inventory } from '../../../client/src/animal-store.ts'
import type { StatusName } from '../../animal.ts'
import { formatNumber } from '../../number-format.ts'
import { find, keepFocus, setText } from './elements.ts'
import { countOf } from './inventory-bar.ts'
import type { ListPage } from './list-page.ts'
import type { Pace } from './pace.ts'
import type { PageState } from './state.ts'

/** After this time, a search says how far it is. */
const PROGRESS_MS = 1_000

interface ListStatusOptions {
  readonly state: PageState
  readonly pace: Pace
  readonly onClear: () => void
  /** A search that takes long has found these animals so far. It is stopped, or goes on. */
  readonly onPart: (found: ListPage, isStopped: boolean) => void
}

export function createListStatus({ state, pace, onClear, onPart }: ListStatusOptions) {
  const text = find('#list-status [role=status]', HTMLElement)
  const progress = find('#search-progress', HTMLElement)
  const stopButton = find('#stop-search', HTMLButtonElement)
  const clearButton = find('#clear-search', HTMLButtonElement)
  let onStop = () => {}

  function show(shown: string, shownProgress = '', stopLabel?: string): void {
    setText(text, shown)
    progress.textContent = shownProgress
    if (stopLabel === undefined) keepFocus(stopButton)
    stopButton.textContent = stopLabel ?? ''
    stopButton.hidden = stopLabel === undefined
  }

  /** A search examines the animals of the status. The service has no filter for those without one. */
  function describeProgress(examined: number, status: StatusName | undefined): string {
    const { inventory } = state
    const total = inventory && countOf(inventory, status === 'none' ? undefined : status)
    if (total === undefined || total < examined) return `${formatNumber(examined)} so far`
    return `${formatNumber(examined)} of ${formatNumber(total)}`
  }

  stopButton.addEventListener('click', () => onStop())
  clearButton.addEventListener('click', onClear)

  return {
    /** Shows nothing if no page is shown. The page has only animals that are in the list. */
    showPage(page: ListPage | undefined): void {
      clearButton.hidden = page?.location.search === undefined
      show(page === undefined ? '' : describePage(page, state.inventory))
    },

    /**
     * Returns a function that is called before each further request of a search (list-page.ts). It waits while the search is
     * stopped or the tab is hidden, and leaves half of the rate limit to the user.
     */
    watchSearch(signal: AbortSignal): (found: ListPage, examined: number) => Promise<void> {
      // What the search before this one has shown.
      if (!stopButton.hidden) show('')
      let latest: { readonly found: ListPage; readonly examined: number } | undefined
      let isSlow = false
      let stopped: PromiseWithResolvers<void> | undefined

      function showProgress(): void {
        if (!isSlow || latest === undefined || signal.aborted) return
        const { found, examined } = latest
        const { status, search } = found.location
        onPart(found, stopped !== undefined)
        clearButton.hidden = search === undefined
        const [verb, label] = stopped === undefined ? ['Searching …', 'Stop'] : ['Searched', 'Continue']
        show(verb, describeProgress(examined, status), label)
      }

      const timer = setTimeout(() => {
        isSlow = true
        showProgress()
      }, PROGRESS_MS)
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        stopped?.resolve()
      })
      onStop = () => {
        stopped?.resolve()
        stopped = stopped === undefined ? Promise.withResolvers() : undefined
        showProgress()
      }
      return async (found, examined) => {
        latest = { found, examined }
        showProgress()
        await stopped?.promise
        await pace.untilVisible(signal)
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
  if (animals.length === 0) return ''
  return inventory === undefined ? count : `${count} of ${formatNumber(countOf(inventory, location.status))}`
}
