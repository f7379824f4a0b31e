// The table of animals, and the message that replaces it when there is nothing to show.

import type { Animal } from '../../../client/src/animal-store.ts'
import { foldName } from '../../animal.ts'
import { createElement, createStatusBadge, find, opensNewTab } from './elements.ts'
import type { ListPage } from './list-page.ts'
import { isFirstPage, toCategoryUrl, toFilters, toUrl } from './location.ts'

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
  /** The part of a name that is marked in the rows. */
  let marked: string | undefined

  function showMessage({ title, text, link }: ListMessage): void {
    rows.clear()
    showRows()
    find('#list-message h2', HTMLElement).textContent = title
    find('#list-message p', HTMLElement).textContent = text
    const linkElement = find('#list-message a', HTMLElement)
    linkElement.textContent = link ?? ''
    linkElement.hidden = link === undefined
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
    for (const [id, row] of rows)
      find('.name', HTMLAnchorElement, row).href = toUrl({ ...page.location, animal: id })
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
    if (row instanceof HTMLElement) row.focus({ preventScroll: true })
  }

  /** The Tab key enters the table once; other keys move inside of it. */
  function setTabStop(): void {
    const current = body.querySelector('[aria-current]') ?? body.firstElementChild
    for (const row of body.children)
      for (const link of row.querySelectorAll('a')) link.tabIndex = row === current ? 0 : -1
  }

  /** A click beside the link of a row counts like a click on the link. */
  function follow(event: MouseEvent): void {
    const { target } = event
    const row = target instanceof Element ? target.closest('tr') : null
    const id = [...rows].find(([, shown]) => shown === row)?.[0]
    const link = target instanceof Element ? target.closest('a') : null
    if (row === null || id === undefined || link?.matches('.category')) return
    if (event.button === 1 || opensNewTab(event)) {
      if (link === null) window.open(find('.name', HTMLAnchorElement, row).href, '_blank', 'noopener')
      return
    }
    event.preventDefault()
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
      if (body.childElementCount > 0 || !message.hidden) return
      const count = Math.min(limit, MAX_SKELETON_ROWS)
      body.replaceChildren(...Array.from({ length: count }, createSkeletonRow))
    },

    /** No request is in flight, although the page is not there yet. */
    showPause(): void {
      table.ariaBusy = 'false'
    },

    showPage(page: ListPage): void {
      table.ariaBusy = 'false'
      if (page.animals.length > 0) showPage(page)
      else showMessage(describeEmpty(page))
    },

    /** What a search has found so far. */
    showPart(page: ListPage, isPaused: boolean): void {
      table.ariaBusy = String(!isPaused)
      if (page.animals.length > 0) showPage(page)
      else showMessage(isPaused ? STOPPED : SEARCHING)
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
  /** The label of the link to the list. Without a label, the button "New animal" replaces the link. */
  readonly link?: string
}

const SHOW_ALL = 'Show all animals'

const SEARCHING: ListMessage = { title: 'Nothing found yet', text: 'The search goes on.', link: SHOW_ALL }

const STOPPED: ListMessage = { title: 'Nothing found so far', text: 'The search is stopped.', link: SHOW_ALL }

function describeEmpty({ location }: ListPage): ListMessage {
  const { status, after, before, search } = location
  const kind = status === 'none' ? 'without a status ' : ''
  const adjective = status === undefined || status === 'none' ? '' : `${status} `
  if (search !== undefined)
    return isFirstPage(location)
      ? {
          title: `No ${adjective}animal ${kind}matches “${search}”`,
          text: 'The search finds parts of names, and category:7.',
          link: SHOW_ALL,
        }
      : {
          title: 'No more matches',
          text: `No other ${adjective}animal ${kind}matches “${search}”.`,
          link: FIRST_PAGE,
        }
  if (!isFirstPage(location)) {
    const place = after === undefined ? `before id ${before}` : `after id ${after}`
    return { title: 'Nothing here', text: `No ${adjective}animal ${kind}comes ${place}.`, link: FIRST_PAGE }
  }
  if (status === 'none')
    return { title: 'No animals without a status', text: 'Every animal has a status.', link: SHOW_ALL }
  if (status !== undefined)
    return { title: `No ${status} animals`, text: 'No animal has this status now.', link: SHOW_ALL }
  return { title: 'No animals yet', text: 'The catalogue is empty. Add the first animal.' }
}

function renderRow(
  { id, name, categoryId, status }: Animal,
  searched: string | undefined,
): HTMLTableRowElement {
  const text = createElement('span', { dir: 'auto' }, ...markMatches(name, searched))
  const category = { class: 'category', 'data-page': '', href: toCategoryUrl(categoryId) }
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
