// The table of animals, the message that replaces it when there is nothing to show, and the links between pages.

import type { Animal, Page } from '../../../client/src/animal-store.ts'
import { createElement, find, formatCount, setLink } from './elements.ts'
import { type ListLocation, toUrl } from './location.ts'

/** With more, the page would jump when fewer animals arrive. */
const MAX_SKELETON_ROWS = 20

export interface ShownPage {
  readonly page: Page
  readonly location: ListLocation
  /** Undefined on the first page. */
  readonly previous: ListLocation | undefined
  /** The row to highlight. */
  readonly addedId: bigint | undefined
}

export interface AnimalTable {
  /** Marks the table as busy. Rows of the previous page stay until the next page arrives. */
  showLoading(limit: number): void
  showPage(shown: ShownPage): void
  showError(message: string): void
  clear(): void
}

export function createAnimalTable(): AnimalTable {
  const table = find('#list table', HTMLTableElement)
  const rows = find('#rows', HTMLTableSectionElement)
  const message = find('#list-message', HTMLElement)
  const summary = find('#summary', HTMLElement)

  function showMessage(title: string, text: string, hasLink: boolean): void {
    find('#list-message h2', HTMLElement).textContent = title
    find('#list-message p', HTMLElement).textContent = text
    find('#list-message a', HTMLElement).hidden = !hasLink
    message.hidden = false
    table.hidden = true
    summary.textContent = ''
  }

  function showRows(animals: readonly Animal[], addedId: bigint | undefined): void {
    rows.replaceChildren(...animals.map(animal => createRow(animal, animal.id === addedId)))
    message.hidden = true
    table.hidden = false
    const [first, last] = [animals[0], animals.at(-1)]
    summary.textContent = `${formatCount(animals.length, 'animal')}, ${
      animals.length === 1 ? `id ${first?.id}` : `ids ${first?.id} to ${last?.id}`
    }`
  }

  function setLinks(first?: ListLocation, previous?: ListLocation, next?: ListLocation): void {
    const links = { '#first': first, '#previous': previous, '#next': next }
    for (const [selector, target] of Object.entries(links))
      setLink(find(selector, HTMLAnchorElement), target && toUrl(target))
  }

  return {
    showLoading(limit) {
      table.ariaBusy = 'true'
      if (rows.childElementCount > 0 || !message.hidden) return
      const count = Math.min(limit, MAX_SKELETON_ROWS)
      rows.replaceChildren(...Array.from({ length: count }, createSkeletonRow))
    },

    showPage({ page: { animals, next }, location, previous, addedId }) {
      const { status, after } = location
      table.ariaBusy = 'false'
      if (animals.length > 0) showRows(animals, addedId)
      else if (after !== undefined)
        showMessage('The end of the list', `No animal comes after id ${after}.`, true)
      else if (status !== undefined)
        showMessage(`No ${status} animals`, 'No animal has this status now.', true)
      else showMessage('No animals yet', 'The catalogue is empty. Add the first animal.', false)
      setLinks(
        after === undefined ? undefined : { ...location, after: undefined },
        previous,
        next && { ...location, after: next.after },
      )
    },

    showError(text) {
      table.ariaBusy = 'false'
      showMessage('This page cannot be shown', text, true)
      setLinks()
    },

    clear() {
      rows.replaceChildren()
      message.hidden = true
      table.hidden = false
      summary.textContent = ''
    },
  }
}

function createRow({ id, name, categoryId, status }: Animal, isNew: boolean): HTMLTableRowElement {
  return createElement(
    'tr',
    isNew ? { class: 'new' } : {},
    createElement('th', { scope: 'row' }, name),
    createElement('td', { 'data-label': 'Id' }, String(id)),
    createElement('td', { 'data-label': 'Category' }, String(categoryId)),
    createElement(
      'td',
      { 'data-label': 'Status' },
      createElement('span', { class: `badge ${status ?? 'none'}` }, status ?? '–'),
    ),
  )
}

function createSkeletonRow(): HTMLTableRowElement {
  const cells = ['th', 'td', 'td', 'td'] as const
  return createElement(
    'tr',
    { class: 'skeleton', 'aria-hidden': 'true' },
    ...cells.map(tag => createElement(tag, {}, createElement('span', {}, '\u00a0'))),
  )
}
