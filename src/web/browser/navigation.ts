// Navigation: the browser's history, the filter, the page size, and the links between pages.

import { ServiceError } from '../../error.ts'
import { createElement, find, formatCount, keepFocus } from './elements.ts'
import {
  firstPage,
  isFirstPage,
  KINDS,
  type ListLocation,
  ORDERS,
  parseListLocation,
  rememberPageSize,
  toListUrl,
  toUrl,
} from './location.ts'
import type { PageState } from './state.ts'
import { scrollToFilter } from './stock.ts'

export type Navigation = ReturnType<typeof createNavigation>

export interface NavigationOptions {
  readonly state: PageState
  /** The URL names another page of the list, or another list. */
  readonly onList: () => void
  /** The URL names another animal, or none. */
  readonly onAnimal: () => void
}

export function createNavigation({ state, onList, onAnimal }: NavigationOptions) {
  const filterButtons = document.querySelectorAll<HTMLButtonElement>('#filter button')
  const limitSelect = find('#limit', HTMLSelectElement)
  const summary = find('#summary', HTMLElement)

  /** Follows the URL, which has changed. */
  function follow(): void {
    const before = toListUrl(state.location)
    readUrl()
    const isSameList = state.urlProblem === undefined && toListUrl(state.location) === before
    if (isSameList && state.page !== undefined) onAnimal()
    else onList()
  }

  function goTo(next: ListLocation, { replaces } = { replaces: false }): void {
    if (toListUrl(next) !== toListUrl(state.location)) scrollTo(0, 0)
    state.selectNext = undefined
    if (replaces || toUrl(next) === toUrl(state.location)) history.replaceState(null, '', toUrl(next))
    else history.pushState(null, '', toUrl(next))
    follow()
  }

  // The links name a list. The panel keeps its animal while the user turns pages or filters.
  document.addEventListener('click', event => {
    const link = event.target instanceof Element ? event.target.closest('a[data-page]') : null
    if (!(link instanceof HTMLAnchorElement) || !link.hasAttribute('href')) return
    // With these keys the browser opens the link in a new tab or window.
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    goTo({ ...parseListLocation(link.search), animal: state.location.animal })
  })
  for (const button of filterButtons) {
    button.addEventListener('click', () => {
      const status = KINDS.find(kind => kind === button.dataset.status)
      goTo(firstPage({ ...state.location, status }))
    })
  }
  limitSelect.addEventListener('change', () => {
    rememberPageSize(limitSelect.value)
    goTo(firstPage({ ...state.location, limit: Number(limitSelect.value) }))
  })
  addEventListener('popstate', follow)

  /** Reads the location from the URL and shows it in the controls. */
  function readUrl(): void {
    state.urlProblem = undefined
    try {
      state.location = parseListLocation(location.search)
    } catch (error) {
      state.urlProblem = error instanceof ServiceError ? error.message : String(error)
    }
    showLocation(state.location)
    showTitle(state.location)
  }

  function showLocation(current: ListLocation): void {
    const { status, limit, order } = current
    // A link may have a page size that the menu does not offer.
    const isOffered = [...limitSelect.options].some(({ value }) => value === String(limit))
    if (!isOffered) limitSelect.add(new Option(String(limit)))
    limitSelect.value = String(limit)
    for (const button of filterButtons) button.ariaPressed = String(button.dataset.status === (status ?? ''))
    scrollToFilter()
    for (const choice of ORDERS) {
      const link = find(`#${choice}`, HTMLAnchorElement)
      link.href = toListUrl(firstPage({ ...current, order: choice }))
      link.ariaCurrent = choice === order ? 'true' : null
    }
    find('#id-column', HTMLTableCellElement).ariaSort = order === 'oldest' ? 'ascending' : 'descending'
  }

  return {
    readUrl,
    goTo,
    /** Changes the URL of what is shown already. */
    replaceUrl(next: ListLocation): void {
      history.replaceState(null, '', toUrl(next))
      state.location = next
      showTitle(next)
    },
    /** Goes to the page before or after this one. Returns false if there is none. */
    turnPage(direction: 1 | -1): boolean {
      const target = direction === 1 ? state.page?.next : state.page?.previous
      if (target !== undefined) goTo({ ...target, animal: state.location.animal })
      return target !== undefined
    },
    /** Shows the links to the other pages, and which animals this page has. */
    showPager(): void {
      const { page } = state
      const first = page && !isFirstPage(page.location) ? firstPage(page.location) : undefined
      const links = { '#first': first, '#previous': page?.previous, '#next': page?.next }
      for (const [selector, target] of Object.entries(links))
        setLink(find(selector, HTMLAnchorElement), target)
      const [count, ids] = describe(page?.animals ?? [])
      // Otherwise a screen reader would announce the same text again.
      if (summary.textContent !== count + ids) summary.replaceChildren(createElement('span', {}, count), ids)
    },
  }
}

/** The count has its own text, because a narrow list hides it. */
function describe(animals: readonly { readonly id: bigint }[]): [count: string, ids: string] {
  const [first, last] = [animals[0], animals.at(-1)]
  if (first === undefined) return ['', '']
  const ids = animals.length === 1 ? `id ${first.id}` : `ids ${first.id} to ${last?.id}`
  return [`${formatCount(animals.length, 'animal')}, `, ids]
}

function showTitle(location: ListLocation): void {
  const { status, search, order, after, before, animal } = location
  const page = after === undefined ? before && `before ${before}` : `after ${after}`
  const list = [search, status, order === 'newest' && isFirstPage(location) && order, page]
  const parts = animal === undefined ? list : [`animal ${animal}`]
  document.title = [...parts, 'Animal Store'].filter(Boolean).join(' · ')
}

/** Without a target, the link is disabled but stays visible, so that the other links do not move. */
function setLink(link: HTMLAnchorElement, target: ListLocation | undefined): void {
  if (target === undefined) {
    keepFocus(link)
    link.removeAttribute('href')
  } else link.href = toListUrl(target)
  link.ariaDisabled = target === undefined ? 'true' : null
}
