// Navigation: the browser's history, the filter, the page size, and the links between pages.

import { STATUS_NAMES } from '../../animal.ts'
import { tabValue } from './browser-storage.ts'
import { find, keepFocus, opensNewTab } from './elements.ts'
import type { ListPage } from './list-page.ts'
import {
  firstPage,
  isFirstPage,
  type ListLocation,
  ORDERS,
  parseListLocation,
  rememberPageSize,
  toListUrl,
  toUrl,
} from './location.ts'
import type { PageState } from './state.ts'

/** How far each step of the history was scrolled down when the user left it. Stored while the tab shows another page. */
const storedScroll = tabValue('animal-store-scroll')
/** `emptyStep`, stored for as long. */
const storedEmptyStep = tabValue('animal-store-empty-step')

export type Navigation = ReturnType<typeof createNavigation>

interface NavigationOptions {
  readonly state: PageState
  /** The URL names another page of the list, or another list. */
  readonly onList: () => void
  /** The URL names another animal, or none. */
  readonly onAnimal: () => void
  /** The Back button has left the form in the panel. */
  readonly onFormLeft: () => void
}

export function createNavigation({ state, onList, onAnimal, onFormLeft }: NavigationOptions) {
  const filterButtons = document.querySelectorAll<HTMLButtonElement>('#filter button')
  const limitSelect = find('#limit', HTMLSelectElement)
  const listElement = find('#list', HTMLElement)
  const scrolled = (storedScroll.load() ?? '').split(',').map(Number)
  storedScroll.clear()
  let step = Number(history.state ?? scrolled.length)
  /** Until the list, or the first part of a long search, is shown. */
  let pendingScroll = scrolled[step]
  const emptyStepText = storedEmptyStep.load()
  storedEmptyStep.clear()
  /**
   * The step that has nothing but a form, if there is one. Once the form is closed, it shows the same as the step before it, so
   * Back skips it: otherwise the first press would seem to do nothing.
   */
  let emptyStep = emptyStepText === undefined ? undefined : Number(emptyStepText)

  // A list that has to be loaded is too short when the browser would scroll it.
  history.scrollRestoration = 'manual'
  history.replaceState(step, '')

  /** Follows the URL, which has changed. */
  function follow(): void {
    const before = toListUrl(state.location)
    readUrl()
    const isSameList = state.urlProblem === undefined && toListUrl(state.location) === before
    if (isSameList && state.page !== undefined) {
      onAnimal()
      restoreScroll()
    } else onList()
  }

  function restoreScroll(): void {
    if (pendingScroll !== undefined) scrollTo(0, pendingScroll)
    pendingScroll = undefined
  }

  function push(url: string): void {
    scrolled[step] = scrollY
    history.pushState(++step, '', url)
    // The steps from here on are gone.
    if (emptyStep !== undefined && emptyStep >= step) emptyStep = undefined
  }

  function goTo(next: ListLocation, { replaces } = { replaces: false }): void {
    const isSameList = toListUrl(next) === toListUrl(state.location)
    state.selectNext = undefined
    pendingScroll = undefined
    const isOther = toUrl(next) !== toUrl(state.location)
    // A form that is open keeps its step, so that Back leads to it.
    const isReplaced = step === emptyStep ? state.form === undefined : replaces
    if (isOther && !isReplaced) push(toUrl(next))
    else history.replaceState(step, '', toUrl(next))
    if (isOther && step === emptyStep) emptyStep = undefined
    if (!isSameList) scrollTo(0, 0)
    follow()
  }

  // The links name a list. The panel keeps its animal while the user turns pages or filters.
  document.addEventListener('click', event => {
    const link = event.target instanceof Element ? event.target.closest('a[data-page]') : null
    if (!(link instanceof HTMLAnchorElement) || !link.hasAttribute('href')) return
    if (opensNewTab(event)) return
    event.preventDefault()
    // On a small screen, a sheet with the animal would cover the list.
    const animal = listElement.inert ? undefined : state.location.animal
    goTo({ ...parseListLocation(link.search), animal })
  })
  for (const button of filterButtons) {
    button.addEventListener('click', () => {
      const status = STATUS_NAMES.find(name => name === button.dataset.status)
      goTo(firstPage({ ...state.location, status }))
    })
  }
  for (const order of ORDERS)
    find(`#${order}`, HTMLButtonElement).addEventListener('click', () =>
      goTo(firstPage({ ...state.location, order })),
    )
  limitSelect.addEventListener('change', () => {
    rememberPageSize(limitSelect.value)
    goTo(firstPage({ ...state.location, limit: Number(limitSelect.value) }))
  })
  addEventListener('popstate', () => {
    const from = step
    scrolled[from] = scrollY
    // A link within the page makes a step without a number.
    step = Number(history.state ?? from + 1)
    if (history.state === null) history.replaceState(step, '')
    if (emptyStep !== undefined && from >= emptyStep && step < emptyStep) {
      if (state.form !== undefined) onFormLeft()
      else if (step === from - 1) return history.back()
    }
    pendingScroll = scrolled[step] ?? 0
    follow()
  })
  addEventListener('pagehide', () => {
    scrolled[step] = scrollY
    storedScroll.save(scrolled.join())
    if (emptyStep !== undefined) storedEmptyStep.save(String(emptyStep))
  })

  /** Reads the location from the URL and shows it in the controls. */
  function readUrl(): void {
    state.urlProblem = undefined
    try {
      state.location = parseListLocation(location.search)
    } catch (error) {
      state.urlProblem = error instanceof Error ? error.message : String(error)
    }
    showLocation(state.location)
    showTitle()
  }

  function showLocation(current: ListLocation): void {
    const { status, limit, order } = current
    // A link may have a page size that the menu does not offer.
    const isOffered = [...limitSelect.options].some(({ value }) => value === String(limit))
    if (!isOffered) limitSelect.add(new Option(String(limit)))
    limitSelect.value = String(limit)
    for (const button of filterButtons) button.ariaPressed = String(button.dataset.status === (status ?? ''))
    for (const choice of ORDERS) find(`#${choice}`, HTMLElement).ariaPressed = String(choice === order)
    find('#id-column', HTMLTableCellElement).ariaSort = order === 'oldest' ? 'ascending' : 'descending'
  }

  function showTitle(): void {
    const { search, status, order, after, before, animal } = state.location
    const page = after === undefined ? before && `before ${before}` : `after ${after}`
    const name = state.animal?.id === animal ? state.animal?.name : undefined
    const list = [
      search,
      status === 'none' ? 'no status' : status,
      order === 'oldest' && 'oldest first',
      page,
    ]
    const parts = animal === undefined ? list : [name ?? `animal ${animal}`]
    document.title = [...parts, 'Animal Store'].filter(Boolean).join(' · ')
  }

  return {
    readUrl,
    goTo,
    /** Scrolls to where the user was at this step of the history, if the user has come back to it. */
    restoreScroll,
    /** A form opens beside this location. This is a step of the history, so that Back closes the form. */
    enterForm(next: ListLocation): void {
      if (toUrl(next) !== toUrl(state.location)) goTo(next)
      else if (step !== emptyStep) {
        push(toUrl(next))
        emptyStep = step
      }
    },
    /** Changes the URL of what is shown already. */
    replaceUrl(next: ListLocation): void {
      history.replaceState(step, '', toUrl(next))
      state.location = next
      showTitle()
    },
    showTitle,
    /** Goes to the page before or after this one. Returns false if there is none. */
    turnPage(direction: 1 | -1): boolean {
      const target = direction === 1 ? state.page?.next : state.page?.previous
      if (target !== undefined) goTo({ ...target, animal: state.location.animal })
      return target !== undefined
    },
    /** Shows the ids of the page, and the links to the other pages. */
    showPager(): void {
      const { page } = state
      find('#page-ids', HTMLElement).textContent = page === undefined ? '' : describeIds(page)
      const first = page && !isFirstPage(page.location) ? firstPage(page.location) : undefined
      const links = { '#first': first, '#previous': page?.previous, '#next': page?.next }
      for (const [selector, target] of Object.entries(links))
        setLink(find(selector, HTMLAnchorElement), target)
    },
  }
}

/** The smallest id of the page and the largest one. */
function describeIds({ animals, location }: ListPage): string {
  const ids = [animals[0]?.id, animals.at(-1)?.id]
  const [smallest, largest] = location.order === 'newest' ? ids.reverse() : ids
  if (smallest === undefined) return ''
  return smallest === largest ? `id ${smallest}` : `ids ${smallest} – ${largest}`
}

/** Without a target, the link is disabled but stays visible, so that the other links do not move. */
function setLink(link: HTMLAnchorElement, target: ListLocation | undefined): void {
  if (target === undefined) {
    keepFocus(link)
    link.removeAttribute('href')
  } else link.href = toListUrl(target)
  link.ariaDisabled = target === undefined ? 'true' : null
}
