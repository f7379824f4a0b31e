// Navigation in the list: the links between pages, the filters, and the browser's history.

import { ServiceError } from '../../error.ts'
import { find } from './elements.ts'
import { type ListLocation, parseListLocation, toUrl } from './location.ts'

/** The browser stores the trail with every history entry, so its length is limited. */
const MAX_TRAIL_LENGTH = 1_000

/** `after` of each page that led to this one. Null is the first page. */
type Trail = readonly (string | null)[]

interface HistoryState {
  readonly trail: Trail
}

export interface NavigationOptions {
  readonly onNavigate: () => void
  /** Called for the link to the previous page if the trail does not have that page. */
  readonly onUnknownPrevious: () => void
}

export interface Navigation {
  /** The last valid location of the URL. */
  readonly current: ListLocation
  /** Reads the location from the URL and shows it in the filters. Returns the error message if the URL is invalid. */
  readUrl(): string | undefined
  /** The page that led to this one or, after a link from elsewhere, an estimate. Undefined on the first page. */
  previous(): ListLocation | undefined
  goTo(location: ListLocation): void
}

export function createNavigation({ onNavigate, onUnknownPrevious }: NavigationOptions): Navigation {
  const filters = find('#filters', HTMLFormElement)
  const statusFilter = find('#status', HTMLSelectElement)
  const limitFilter = find('#limit', HTMLSelectElement)
  let current = parseListLocation('')

  function goTo(next: ListLocation, trail: Trail = []): void {
    history.pushState({ trail: trail.slice(-MAX_TRAIL_LENGTH) } satisfies HistoryState, '', toUrl(next))
    onNavigate()
  }

  function onClick(selector: string, follow: (target: ListLocation) => void): void {
    find(selector, HTMLAnchorElement).addEventListener('click', event => {
      const link = event.currentTarget as HTMLAnchorElement
      // With these keys the browser opens the link in a new tab or window.
      if (!link.hasAttribute('href') || event.ctrlKey || event.metaKey || event.shiftKey) return
      event.preventDefault()
      // After a double click, the page is already loading.
      if (link.href === location.href) return
      find('#title', HTMLElement).focus()
      follow(parseListLocation(link.search))
    })
  }

  onClick('#first', target => goTo(target))
  onClick('#list-message a', target => goTo(target))
  onClick('#next', target =>
    goTo(target, [...readTrail(), current.after === undefined ? null : String(current.after)]),
  )
  onClick('#previous', target => {
    const trail = readTrail()
    if (trail.length === 0) onUnknownPrevious()
    else goTo(target, trail.slice(0, -1))
  })
  filters.addEventListener('change', () => {
    const { value: status } = statusFilter
    const { value: limit } = limitFilter
    goTo(parseListLocation(new URLSearchParams({ limit, ...(status !== '' && { status }) }).toString()))
  })
  filters.addEventListener('submit', event => event.preventDefault())
  addEventListener('popstate', () => onNavigate())

  function showFilters({ status, limit }: ListLocation): void {
    // A link may have a page size that the filter does not offer.
    const isOffered = [...limitFilter.options].some(({ value }) => value === String(limit))
    if (!isOffered) limitFilter.add(new Option(String(limit)))
    limitFilter.value = String(limit)
    statusFilter.value = status ?? ''
  }

  function parseUrl(): string | undefined {
    try {
      current = parseListLocation(location.search)
      return undefined
    } catch (error) {
      return error instanceof ServiceError ? error.message : String(error)
    }
  }

  return {
    get current() {
      return current
    },
    readUrl() {
      const error = parseUrl()
      showFilters(current)
      return error
    },
    previous() {
      const { after, limit } = current
      if (after === undefined) return undefined
      const last = readTrail().at(-1)
      if (last !== undefined) return { ...current, after: last === null ? undefined : BigInt(last) }
      const estimate = after - BigInt(limit)
      return { ...current, after: estimate > 0n ? estimate : undefined }
    },
    goTo,
  }
}

function readTrail(): Trail {
  return (history.state as HistoryState | null)?.trail ?? []
}
