// The table of animals, and the message that replaces it when there is nothing to show.

import type { Animal } from '../../../client/src/animal-store.ts'
import { createElement, find, setAttribute } from './elements.ts'
import type { ListPage } from './list-page.ts'
import { isFirstPage, type ListLocation } from './location.ts'
import { createStatusBadge } from './status-badge.ts'

/** With more, the page would jump when fewer animals arrive. */
const MAX_SKELETON_ROWS = 20

/** How long new animals are marked. */
const NEW_MS = 4_000

export interface AnimalTable {
  /** Marks the table as busy. Rows of the previous page stay until the next page arrives. */
  showLoading(limit: number): void
  showPage(page: ListPage): void
  showError(message: string): void
  /** Marks rows as new for a few seconds. */
  markNew(ids: ReadonlySet<bigint>): void
  /** Marks one row as selected, or none. */
  setSelected(id: bigint | undefined): void
  focusRow(id: bigint): void
  clear(): void
}

export function createAnimalTable(onSelect: (id: bigint) => void): AnimalTable {
  const table = find('#list table', HTMLTableElement)
  const body = find('#rows', HTMLTableSectionElement)
  const message = find('#list-message', HTMLElement)
  let rows = new Map<bigint, HTMLTableRowElement>()

  function showMessage(title: string, text: string, canAdd: boolean): void {
    find('#list-message h2', HTMLElement).textContent = title
    find('#list-message p', HTMLElement).textContent = text
    find('#list-message a', HTMLElement).hidden = canAdd
    find('#list-message button', HTMLElement).hidden = !canAdd
    message.hidden = false
    table.hidden = true
    rows = new Map()
    body.replaceChildren()
  }

  /** An animal never changes, so its row is kept if it is shown already, with its selection and focus. */
  function showRows(animals: readonly Animal[]): void {
    const { activeElement } = document
    rows = new Map(animals.map(animal => [animal.id, rows.get(animal.id) ?? createRow(animal)]))
    body.replaceChildren(...rows.values())
    if (activeElement instanceof HTMLElement && body.contains(activeElement))
      activeElement.focus({ preventScroll: true })
    message.hidden = true
    table.hidden = false
    setTabStop()
  }

  function createRow(animal: Animal): HTMLTableRowElement {
    const row = renderRow(animal)
    row.addEventListener('click', () => {
      const selection = getSelection()
      // A click that ends the selection of text in the row selects no animal.
      const hasText = selection !== null && !selection.isCollapsed && selection.containsNode(row, true)
      if (!hasText) onSelect(animal.id)
    })
    return row
  }

  /** The Tab key enters the table once; other keys move inside of it. */
  function setTabStop(): void {
    const current = body.querySelector('[aria-current]') ?? body.firstElementChild
    for (const row of body.children) {
      const button = row.querySelector('button')
      if (button) button.tabIndex = row === current ? 0 : -1
    }
  }

  return {
    showLoading(limit) {
      table.ariaBusy = 'true'
      if (body.childElementCount > 0 || !message.hidden) return
      const count = Math.min(limit, MAX_SKELETON_ROWS)
      body.replaceChildren(...Array.from({ length: count }, createSkeletonRow))
    },

    showPage({ animals, location }) {
      table.ariaBusy = 'false'
      if (animals.length > 0) showRows(animals)
      else showMessage(...describeEmpty(location))
    },

    showError(text) {
      table.ariaBusy = 'false'
      showMessage('This page cannot be shown', text, false)
    },

    markNew(ids) {
      const marked = [...ids].flatMap(id => rows.get(id) ?? [])
      for (const row of marked) row.classList.add('new')
      setTimeout(() => {
        for (const row of marked) row.classList.remove('new')
      }, NEW_MS)
    },

    setSelected(id) {
      for (const [rowId, row] of rows) setAttribute(row, 'aria-current', rowId === id ? 'true' : undefined)
      setTabStop()
    },

    focusRow(id) {
      const row = rows.get(id)
      row?.querySelector('button')?.focus({ preventScroll: true })
      row?.scrollIntoView({ block: 'nearest' })
    },

    clear() {
      rows = new Map()
      body.replaceChildren()
      message.hidden = true
      table.hidden = false
    },
  }
}

function describeEmpty(location: ListLocation): [title: string, text: string, canAdd: boolean] {
  const { status, after, before } = location
  if (!isFirstPage(location)) {
    const text = after === undefined ? `before id ${before}` : `after id ${after}`
    return ['Nothing here', `No ${status ?? ''} animal comes ${text}.`.replace('  ', ' '), false]
  }
  if (status !== undefined) return [`No ${status} animals`, 'No animal has this status now.', false]
  return ['No animals yet', 'The catalogue is empty. Add the first animal.', true]
}

function renderRow({ id, name, categoryId, status }: Animal): HTMLTableRowElement {
  return createElement(
    'tr',
    {},
    createElement('td', { class: 'number', 'data-label': 'id' }, String(id)),
    createElement(
      'th',
      { scope: 'row' },
      createElement(
        'button',
        { type: 'button', class: 'name' },
        createElement('span', { dir: 'auto' }, name),
      ),
    ),
    createElement('td', { class: 'number', 'data-label': 'category' }, String(categoryId)),
    createElement('td', {}, createStatusBadge(status)),
  )
}

function createSkeletonRow(): HTMLTableRowElement {
  const cells = ['td', 'th', 'td', 'td'] as const
  return createElement(
    'tr',
    { class: 'skeleton', 'aria-hidden': 'true' },
    ...cells.map(tag => createElement(tag, {}, createElement('span', {}, '\u00a0'))),
  )
}
