// Navigation in the list: the links between pages, the filter, the page size, and the browser's history.

import { isStatus } from '../../animal.ts'
import { ServiceError } from '../../error.ts'
import { find, setAttribute, setLink } from './elements.ts'
import { firstPage, isFirstPage, type ListLocation, parseListLocation, toUrl } from './location.ts'
import { rememberPageSize } from './page-size.ts'
import { scrollIntoRow } from './scroll-edges.ts'

export interface Navigation {
  /** The last valid location of the URL. */
  readonly current: ListLocation
  /** Reads the location from the URL and shows it in the toolbar. Returns the error message if the URL is invalid. */
  readUrl(): string | undefined
  goTo(location: ListLocation): void
  /** Replaces the URL by another URL of the page that is shown, without a new history entry. */
  replace(location: ListLocation): void
}

export function createNavigation(onNavigate: () => void): Navigation {
  const filterButtons = document.querySelectorAll<HTMLButtonElement>('#filter button, #stock-legend button')
  const limitSelect = find('#limit', HTMLSelectElement)
  const oldest = find('#oldest', HTMLAnchorElement)
  const newest = find('#newest', HTMLAnchorElement)
  const idColumn = find('#id-column', HTMLTableCellElement)
  let current = parseListLocation('')

  function goTo(next: ListLocation): void {
    history.pushState(null, '', toUrl(next))
    scrollTo(0, 0)
    onNavigate()
  }

  document.addEventListener('click', event => {
    const link = event.target instanceof Element ? event.target.closest('a[data-page]') : null
    if (!(link instanceof HTMLAnchorElement) || !link.hasAttribute('href')) return
    // With these keys the browser opens the link in a new tab or window.
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    // After a double click, the page is already loading.
    if (link.href !== location.href) goTo(parseListLocation(link.search))
  })
  for (const button of filterButtons) {
    button.addEventListener('click', () => {
      const { status } = button.dataset
      // A second click in the legend, which has no button for all animals, removes the filter.
      const isRemoved = status === current.status && button.closest('#stock-legend') !== null
      goTo(firstPage({ ...current, status: isStatus(status) && !isRemoved ? status : undefined }))
    })
  }
  limitSelect.addEventListener('change', () => {
    rememberPageSize(limitSelect.value)
    goTo(firstPage({ ...current, limit: Number(limitSelect.value) }))
  })
  addEventListener('popstate', () => onNavigate())

  function showLocation({ status, limit, order }: ListLocation): void {
    // A link may have a page size that the menu does not offer.
    const isOffered = [...limitSelect.options].some(({ value }) => value === String(limit))
    if (!isOffered) limitSelect.add(new Option(String(limit)))
    limitSelect.value = String(limit)
    for (const button of filterButtons) button.ariaPressed = String(button.dataset.status === (status ?? ''))
    scrollIntoRow(find('#filter [aria-pressed=true]', HTMLElement))
    setLink(oldest, toUrl(firstPage({ ...current, order: 'oldest' })))
    setLink(newest, toUrl(firstPage({ ...current, order: 'newest' })))
    setAttribute(oldest, 'aria-current', order === 'oldest' ? 'true' : undefined)
    setAttribute(newest, 'aria-current', order === 'newest' ? 'true' : undefined)
    idColumn.ariaSort = order === 'oldest' ? 'ascending' : 'descending'
  }

  function parseUrl(): string | undefined {
    try {
      current = parseListLocation(location.search)
      return undefined
    } catch (error) {
      return error instanceof ServiceError ? error.message : String(error)
    }
  }

  function showTitle(): void {
    const { status, order, after, before } = current
    const page = after === undefined ? before && `before ${before}` : `after ${after}`
    const parts = [status, order === 'newest' && isFirstPage(current) && order, page, 'Animal Store']
    document.title = parts.filter(Boolean).join(' · ')
  }

  return {
    get current() {
      return current
    },
    readUrl() {
      const error = parseUrl()
      showLocation(current)
      showTitle()
      return error
    },
    goTo,
    replace(next) {
      history.replaceState(null, '', toUrl(next))
      current = next
      showTitle()
    },
  }
}
