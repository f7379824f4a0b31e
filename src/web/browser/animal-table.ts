// The table of animals, and the message that replaces it when there is nothing to show.

import type { Animal } from '../../../client/src/animal-store.ts'
import { foldName } from '../../animal.ts'
import { createElement, createStatusBadge, find, opensNewTab } from './elements.ts'
import type { ListPage } from './list-page.ts'
import {
  firstPage,
  isFirstPage,
  type ListLocation,
  toCategoryUrl,
  toFilters,
  toListUrl,
  toUrl,
} from './location.ts'

/** With more, the page would jump when fewer animals arrive. */
const MAX_SKELETON_ROWS = 20

/** How long new animals are marked. */
const NEW_MS = 4_000

export type AnimalTable = ReturnType<typeof createAnimalTable>

export function createAnimalTable(onSelect: (id: bigint) => void) {
  const table = find('#list table', HTMLTableElement)
  const body = find('#rows', HTMLTableSectionElement)
  const message = find('#list-message', HTMLElement)
  let rows = new Map<bigint, HTMLTableRowElement>()
  /** The part of a name that is marked in the rows. */
  let marked: string | undefined
  /** The table shows what a search has found so far. */
  let isPart = false

  function showMessage({ title, text, link, target }: ListMessage): void {
    rows.clear()
    showRows()
    find('#list-message h2', HTMLElement).textContent = title
    find('#list-message p', HTMLElement).textContent = text
    const linkElement = find('#list-message a', HTMLAnchorElement)
    linkElement.textContent = link ?? ''
    linkElement.href = target === undefined ? './' : toListUrl(target)
    linkElement.hidden = !link
    find('#list-message button', HTMLElement).hidden = link !== undefined
    message.hidden = false
    table.hidden = true
  }

  function showPage(page: ListPage): void {
    const { name } = toFilters(page.location.search)
    // An animal never changes, so a row that is already shown is reused, with its selection and focus.
    const known = name === marked ? rows : new Map<bigint, HTMLTableRowElement>()
    marked = name
    rows = new Map(page.animals.map(animal => [animal.id, known.get(animal.id) ?? renderRow(animal, name)]))
    for (const { id, categoryId } of page.animals) {
      const row = rows.get(id) as HTMLTableRowElement
      find('.name', HTMLAnchorElement, row).href = toUrl({ ...page.location, animal: id })
      find('.category', HTMLAnchorElement, row).href = toCategoryUrl(categoryId, page.location)
    }
    showRows()
  }

  function showRows(): void {
    const { activeElement } = document
    const hadFocus = body.contains(activeElement)
    body.replaceChildren(...rows.values())
    message.hidden = true
    table.hidden = false
    setTabStop()
    if (!hadFocus) return
    const row = body.contains(activeElement) ? activeElement : body.querySelector('[tabindex="0"]')
    const target = row instanceof HTMLElement ? row : find('#title', HTMLElement)
    target.focus({ preventScroll: true })
  }

  /** The Tab key enters the table once; other keys move inside of it. */
  function setTabStop(): void {
    const current = body.querySelector('[aria-current]') ?? body.firstElementChild
    for (const row of body.children)
      for (const link of row.querySelectorAll('a')) link.tabIndex = row === current ? 0 : -1
  }

  /** A click anywhere in a row counts like a click on its name. */
  function follow(event: MouseEvent): void {
    const { target } = event
    const row = target instanceof Element ? target.closest('tr') : null
    const id = [...rows].find(([, shown]) => shown === row)?.[0]
    const isCategory = target instanceof Element && target.closest('.category') !== null
    if (row === null || id === undefined || isCategory) return
    event.preventDefault()
    if (event.button === 1 || opensNewTab(event)) {
      window.open(find('.name', HTMLAnchorElement, row).href, '_blank', 'noopener')
      return
    }
    const selection = getSelection()
    // A click that ends the selection of text in the row selects no animal.
    const hasText = selection?.isCollapsed === false && selection.containsNode(row, true)
    if (!hasText) onSelect(id)
  }

  body.addEventListener('click', follow)
  body.addEventListener('auxclick', event => {
    if (event.button === 1) follow(event)
  })

  return {
    /** Marks the table as busy. Rows of the previous page stay until the next page arrives. */
    showLoading(limit: number): void {
      table.ariaBusy = 'true'
      if (body.childElementCount > 0 || (!message.hidden && !isPart)) return
      message.hidden = true
      table.hidden = false
      const count = Math.min(limit, MAX_SKELETON_ROWS)
      body.replaceChildren(...Array.from({ length: count }, createSkeletonRow))
    },

    showPage(page: ListPage): void {
      table.ariaBusy = 'false'
      isPart = false
      if (page.animals.length > 0) showPage(page)
      else showMessage(describeEmpty(page))
    },

    /** What a search has found so far. */
    showPart(page: ListPage, isPaused: boolean): void {
      table.ariaBusy = String(!isPaused)
      isPart = true
      if (page.animals.length > 0) showPage(page)
      else
        showMessage({
          title: 'Nothing found yet',
          text: isPaused
            ? 'Press “Continue searching”, or search for something else.'
            : 'The search goes on.',
          link: '',
        })
    },

    showError(text: string): void {
      table.ariaBusy = 'false'
      showMessage({ title: 'This page cannot be shown', text, link: 'Show the first page' })
    },

    /** Marks rows as new for a few seconds. */
    markNew(ids: readonly bigint[]): void {
      const newRows = ids.flatMap(id => rows.get(id) ?? [])
      for (const row of newRows) row.classList.add('new')
      setTimeout(() => {
        for (const row of newRows) row.classList.remove('new')
      }, NEW_MS)
    },

    /** Marks one row as selected, or none. */
    setSelected(id: bigint | undefined): void {
      for (const [rowId, row] of rows) row.ariaCurrent = rowId === id ? 'true' : null
      setTabStop()
    },

    focusRow(id: bigint): void {
      const row = rows.get(id)
      row?.querySelector('a')?.focus({ preventScroll: true })
      row?.scrollIntoView({ block: 'nearest' })
    },

    clear(): void {
      rows.clear()
      showRows()
    },
  }
}

interface ListMessage {
  readonly title: string
  readonly text: string
  /** The label of the link, or nothing to show no link. If it is undefined, the button "New animal" replaces the link. */
  readonly link?: string
  /** Where the link leads. The default is the list of all animals. */
  readonly target?: ListLocation
}

function showAll({ location }: ListPage) {
  const target = { ...firstPage(location), search: undefined, status: undefined }
  return { link: 'Show all animals', target }
}

function describeEmpty(page: ListPage): ListMessage {
  const { location } = page
  const { status, after, before, search } = location
  const animal =
    status === undefined ? 'animal' : status === 'none' ? 'animal without a status' : `${status} animal`
  if (!isFirstPage(location)) {
    const place = after === undefined ? `before id ${before}` : `after id ${after}`
    const text =
      search === undefined ? `No ${animal} comes ${place}.` : `No other ${animal} matches “${search}”.`
    const title = search === undefined ? 'Nothing here' : 'No more matches'
    return { title, text, link: 'Show the first page', target: firstPage(location) }
  }
  if (search !== undefined) {
    const title = `No ${animal} matches “${search}”`
    if (status !== undefined) {
      const target = { ...firstPage(location), status: undefined }
      return { title, text: 'Only these animals were searched.', link: 'Search all animals', target }
    }
    const text = 'The search finds parts of names. For a category, write category:7.'
    return { title, text, ...showAll(page) }
  }
  if (status === undefined)
    return { title: 'No animals yet', text: 'The catalogue is empty. Add the first animal.' }
  return { title: `No ${animal}`, text: 'No animal has this status now.', ...showAll(page) }
}

function renderRow(
  { id, name, categoryId, status }: Animal,
  searched: string | undefined,
): HTMLTableRowElement {
  const text = createElement('span', { dir: 'auto' }, ...markMatches(name, searched))
  const category = { class: 'category', 'data-page': '' }
  return createElement(
    'tr',
    {},
    createElement('td', { class: 'number', 'data-label': 'id' }, String(id)),
    createElement('th', { scope: 'row' }, createElement('a', { class: 'name', draggable: 'false' }, text)),
    createElement(
      'td',
      { class: 'number', 'data-label': 'category', title: String(categoryId) },
      createElement('a', category, String(categoryId)),
    ),
    createElement('td', {}, createStatusBadge(status)),
  )
}

/** Marks where the name contains what the search found it by, whatever its case and accents. */
function markMatches(name: string, searched = ''): (Node | string)[] {
  const wanted = foldName(searched)
  if (wanted === '') return [name]
  // One character can be several when it is folded, or none: an accent.
  const characters = [...name]
  const folded = characters.map(foldName)
  const owners = folded.flatMap((text, index) => Array<number>(text.length).fill(index))
  const text = folded.join('')
  const parts: (Node | string)[] = []
  let end = 0
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) {
    const from = Math.max(end, owners[at] ?? 0)
    // The accents that follow belong to the match.
    const to = Math.max(from + 1, owners[at + wanted.length] ?? characters.length)
    parts.push(
      characters.slice(end, from).join(''),
      createElement('mark', {}, characters.slice(from, to).join('')),
    )
    end = to
  }
  return [...parts, characters.slice(end).join('')]
}

function createSkeletonRow(): HTMLTableRowElement {
  const cells = ['number', '', 'number', ''].map((kind, index) =>
    createElement(index === 1 ? 'th' : 'td', { class: kind }, createElement('span', {}, '\u00a0')),
  )
  return createElement('tr', { class: 'skeleton', 'aria-hidden': 'true' }, ...cells)
}
