// The links to the other pages, and which animals this page shows.

import { createElement, find, formatCount, setLink } from './elements.ts'
import type { ListPage } from './list-page.ts'
import { firstPage, isFirstPage, type ListLocation, toUrl } from './location.ts'

export interface Pager {
  readonly previous: ListLocation | undefined
  readonly next: ListLocation | undefined
  show(page: ListPage): void
  /** Disables all links. */
  clear(): void
}

export function createPager(): Pager {
  const summary = find('#summary', HTMLElement)
  let previous: ListLocation | undefined
  let next: ListLocation | undefined

  function showLinks(first: ListLocation | undefined): void {
    const links = { '#first': first, '#previous': previous, '#next': next }
    for (const [selector, target] of Object.entries(links))
      setLink(find(selector, HTMLAnchorElement), target && toUrl(target))
  }

  /** The count has its own element, because a narrow list hides it. */
  function showSummary(count: string, ids: string): void {
    // Otherwise a screen reader would announce the same text again.
    if (summary.textContent !== count + ids) summary.replaceChildren(createElement('span', {}, count), ids)
  }

  return {
    get previous() {
      return previous
    },
    get next() {
      return next
    },
    show(page) {
      previous = page.previous
      next = page.next
      showLinks(isFirstPage(page.location) ? undefined : firstPage(page.location))
      showSummary(...describe(page))
    },
    clear() {
      previous = undefined
      next = undefined
      showLinks(undefined)
      showSummary('', '')
    },
  }
}

function describe({ animals }: ListPage): [count: string, ids: string] {
  const [first, last] = [animals[0], animals.at(-1)]
  if (first === undefined) return ['', '']
  const ids = animals.length === 1 ? `id ${first.id}` : `ids ${first.id} to ${last?.id}`
  return [`${formatCount(animals.length, 'animal')}, `, ids]
}
