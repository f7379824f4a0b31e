// The table of animals, and the message that replaces it when there is nothing to show.

import type { Animal } from '../../../client/src/animal-store.ts'
import { createElement, createStatusBadge, find } from './elements.ts'
import { isFirstPage, isSearch, type ListPage } from './location.ts'

/** With more, the page would jump when fewer animals arrive. */
const MAX_SKELETON_ROWS = 20

const FIRST_PAGE = 'Show the first page'

/** How long new animals are marked. */
const NEW_MS = 4_000

export type AnimalTable = ReturnType<typeof createAnimalTable>

export function createAnimalTable(onSelect: (id: bigint) => void) {
  const table = find('#list table', HTMLTableElement)
  const body = find('#rows', HTMLTableSectionElement)
  const message = find('#list-message', HTMLElement)
  let rows = new Map<bigint, HTMLTableRowElement>()

  function showMessage({ title, text, link }: ListMessage): void {
    showRows([])
    find('#list-message h2', HTMLElement).textContent = title
    find('#list-message p', HTMLElement).textContent = text
    const linkElement = find('#list-message a', HTMLElement)
    linkElement.textContent = link ?? ''
    linkElement.hidden = link === undefined
    find('#list-message button', HTMLElement).hidden = link !== undefined
    message.hidden = false
    table.hidden = true
  }

  /** An animal never changes, so a row that is already shown is reused, with its selection and focus. */
  function showRows(animals: readonly Animal[]): void {
    const { activeElement } = document
    const hadFocus = body.contains(activeElement)
    rows = new Map(animals.map(animal => [animal.id, rows.get(animal.id) ?? renderRow(animal)]))
    body.replaceChildren(...rows.values())
    message.hidden = true
    table.hidden = false
    setTabStop()
    if (!hadFocus) return
    const row = body.contains(activeElement) ? activeElement : body.querySelector('[tabindex="0"]')
    if (row instanceof HTMLElement) row.focus({ preventScroll: true })
  }

  /** The Tab key enters the table once; other keys move inside of it. */
  function setTabStop(): void {
    const current = body.querySelector('[aria-current]') ?? body.firstElementChild
    for (const row of body.children) {
      const button = row.querySelector('button')
      if (button) button.tabIndex = row === current ? 0 : -1
    }
  }

  body.addEventListener('click', ({ target }) => {
    const row = target instanceof Element ? target.closest('tr') : null
    const id = [...rows].find(([, shown]) => shown === row)?.[0]
    const selection = getSelection()
    // A click that ends the selection of text in the row selects no animal.
    const hasText = row && selection?.isCollapsed === false && selection.containsNode(row, true)
    if (id !== undefined && !hasText) onSelect(id)
  })

  return {
    /** Marks the table as busy. Rows of the previous page stay until the next page arrives. */
    showLoading(limit: number): void {
      table.ariaBusy = 'true'
      if (body.childElementCount > 0 || !message.hidden) return
      const count = Math.min(limit, MAX_SKELETON_ROWS)
      body.replaceChildren(...Array.from({ length: count }, createSkeletonRow))
    },

    /** No request is in flight, although the page is not there yet. */
    showPause(): void {
      table.ariaBusy = 'false'
    },

    showPage(page: ListPage, isSearching: boolean): void {
      table.ariaBusy = 'false'
      if (page.animals.length > 0) showRows(page.animals)
      else showMessage(isSearching ? SEARCHING : describeEmpty(page))
    },

    showError(text: string): void {
      table.ariaBusy = 'false'
      showMessage({ title: 'This page cannot be shown', text, link: FIRST_PAGE })
    },

    /** Marks rows as new for a few seconds. */
    markNew(ids: readonly bigint[]): void {
      const marked = ids.flatMap(id => rows.get(id) ?? [])
      for (const row of marked) row.classList.add('new')
      setTimeout(() => {
        for (const row of marked) row.classList.remove('new')
      }, NEW_MS)
    },

    /** Marks one row as selected, or none. */
    setSelected(id: bigint | undefined): void {
      for (const [rowId, row] of rows) row.ariaCurrent = rowId === id ? 'true' : null
      setTabStop()
    },

    focusRow(id: bigint): void {
      const row = rows.get(id)
      row?.querySelector('button')?.focus({ preventScroll: true })
      row?.scrollIntoView({ block: 'nearest' })
    },

    clear(): void {
      showRows([])
    },
  }
}

interface ListMessage {
  readonly title: string
  readonly text: string
  /** The label of the link to the list. Without a label, the button "New animal" replaces the link. */
  readonly link?: string
}

const SEARCHING: ListMessage = {
  title: 'Nothing found yet',
  text: 'The search goes on.',
  link: 'Show all animals',
}

function describeEmpty({ location }: ListPage): ListMessage {
  const { status, after, before, search } = location
  if (!isFirstPage(location)) {
    const place = after === undefined ? `before id ${before}` : `after id ${after}`
    const text = `No ${status ?? ''} animal comes ${place}.`.replace('  ', ' ')
    return { title: 'Nothing here', text, link: FIRST_PAGE }
  }
  if (isSearch(location)) {
    const kind = status === undefined || status === 'none' ? '' : `${status} `
    const title =
      search === undefined ? 'No animals without a status' : `No ${kind}animal matches “${search}”`
    return { title, text: 'The search finds parts of names, and category:7.', link: 'Show all animals' }
  }
  if (status !== undefined)
    return { title: `No ${status} animals`, text: 'No animal has this status now.', link: 'Show all animals' }
  return { title: 'No animals yet', text: 'The catalogue is empty. Add the first animal.' }
}

function renderRow({ id, name, categoryId, status }: Animal): HTMLTableRowElement {
  const text = createElement('span', { dir: 'auto' }, name)
  return createElement(
    'tr',
    {},
    createElement('td', { class: 'number', 'data-label': 'id' }, String(id)),
    createElement('th', { scope: 'row' }, createElement('button', { type: 'button', class: 'name' }, text)),
    createElement(
      'td',
      { class: 'number', 'data-label': 'category', title: String(categoryId) },
      String(categoryId),
    ),
    createElement('td', {}, createStatusBadge(status)),
  )
}

function createSkeletonRow(): HTMLTableRowElement {
  const cells = ['number', '', 'number', ''].map((kind, index) =>
    createElement(index === 1 ? 'th' : 'td', { class: kind }, createElement('span', {}, '\u00a0')),
  )
  return createElement('tr', { class: 'skeleton', 'aria-hidden': 'true' }, ...cells)
}
