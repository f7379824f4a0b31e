// The table of animals, and the message that replaces it when there is nothing to show.

import type { Animal } from '../../../client/src/animal-store.ts'
import { foldName } from '../../animal.ts'
import { createElement, createStatusBadge, find, opensNewTab } from './elements.ts'
import type { ListPage } from './list-page.ts'
import {
  firstPage,
  isFirstPage,
  isInList,
  type ListLocation,
  toCategoryUrl,
  toFilters,
  toListUrl,
  toUrl,
} from './location.ts'
import { shortenName } from './notice.ts'
import { cursorOf, type PageState, type RowNote } from './state.ts'

/** With more, the page would jump when fewer animals arrive. */
const MAX_SKELETON_ROWS = 20

/** How long animals are marked that are new or that somebody else has changed. */
const NEW_MS = 4_000

interface Row {
  readonly element: HTMLTableRowElement
  /** What the row shows. */
  readonly animal: Animal
  readonly rowNote: RowNote | undefined
  /** The part of the name that is marked. */
  readonly searched: string | undefined
}

interface AnimalTableOptions {
  readonly state: PageState
  readonly onSelect: (id: bigint) => void
  /** The user has marked or unmarked this animal. */
  readonly onMark: (id: bigint) => void
}

export type AnimalTable = ReturnType<typeof createAnimalTable>

export function createAnimalTable({ state, onSelect, onMark }: AnimalTableOptions) {
  const table = find('#list table', HTMLTableElement)
  const body = find('#rows', HTMLTableSectionElement)
  const message = find('#list-message', HTMLElement)
  let rows = new Map<bigint, Row>()
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

  function clear(): void {
    isPart = false
    rows.clear()
    showRows()
  }

  /** A row stays the same element while its animal is shown, with its focus and what is selected in it. */
  function showPage({ animals, location }: ListPage): void {
    const { name: searched } = toFilters(location.search)
    rows = new Map(
      animals.map(animal => {
        const known = rows.get(animal.id)
        const rowNote = state.rowNotes.get(animal.id)
        const isShown = known?.animal === animal && known.rowNote === rowNote && known.searched === searched
        return [animal.id, isShown ? known : renderRow(known?.element, { animal, rowNote, searched })]
      }),
    )
    for (const [id, { element, animal, rowNote }] of rows) {
      find('.name', HTMLAnchorElement, element).href = toUrl({ ...location, animal: id })
      find('.category', HTMLAnchorElement, element).href = toCategoryUrl(animal.categoryId, location)
      element.classList.toggle('left', rowNote !== undefined || !isInList(animal, location))
      element.ariaBusy = state.waiting.has(id) ? 'true' : null
      const box = find('input', HTMLInputElement, element)
      box.checked = state.marked.has(id)
      box.disabled = rowNote === 'removed'
    }
    showRows()
  }

  function showRows(): void {
    const { activeElement } = document
    const hadFocus = body.contains(activeElement)
    const elements = [...rows.values()].map(({ element }) => element)
    const isSame =
      elements.length === body.children.length &&
      elements.every((element, index) => element === body.children[index])
    // Rows that are put into the document again lose the focus.
    if (!isSame) body.replaceChildren(...elements)
    message.hidden = true
    table.hidden = false
    showCursor()
    if (!hadFocus) return
    const row = body.contains(activeElement) ? activeElement : body.querySelector('[tabindex="0"]')
    const target = row instanceof HTMLElement ? row : find('#title', HTMLElement)
    if (target === document.activeElement) return
    const { cursor } = state
    target.focus({ preventScroll: true })
    // The user has not moved: the keyboard goes on from where it was.
    state.cursor = cursor
  }

  /** The Tab key enters the table once; other keys move inside of it. */
  function showCursor(): void {
    const id = cursorOf(state)
    const cursor = (id === undefined ? undefined : rows.get(id)?.element) ?? body.firstElementChild
    for (const [rowId, { element }] of rows) {
      element.ariaCurrent = rowId === state.location.animal ? 'true' : null
      find('.name', HTMLAnchorElement, element).tabIndex = element === cursor ? 0 : -1
    }
  }

  function idOf(target: EventTarget | null): bigint | undefined {
    const element = target instanceof Element ? target.closest('tr') : null
    return [...rows].find(([, row]) => row.element === element)?.[0]
  }

  /** A click anywhere in a row counts like a click on its name. */
  function follow(event: MouseEvent): void {
    const { target } = event
    const row = target instanceof Element ? target.closest('tr') : null
    const id = idOf(target)
    const isOther = target instanceof Element && target.closest('.category, .box') !== null
    if (row === null || id === undefined || isOther) return
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
  body.addEventListener('change', ({ target }) => {
    const id = idOf(target)
    if (id !== undefined) onMark(id)
  })
  // The boxes are for the pointer: the keyboard marks the row that it is in.
  body.addEventListener('keydown', event => {
    const id = idOf(event.target)
    const { key, target, shiftKey, ctrlKey } = event
    const isSpace = key === ' ' && !shiftKey && !ctrlKey && !(target instanceof HTMLInputElement)
    if (!isSpace || id === undefined || document.documentElement.classList.contains('read-only')) return
    event.preventDefault()
    onMark(id)
  })
  body.addEventListener('focusin', ({ target }) => {
    const id = idOf(target)
    if (id === undefined || id === state.cursor) return
    state.cursor = id
    showCursor()
  })

  return {
    /** Shows the page of the state as it is now. Does nothing while there is a message instead. */
    render(): void {
      if (state.page !== undefined && !isPart && rows.size > 0) showPage(state.page)
    },

    /** Marks the table as busy. Rows of the previous page stay until the next page arrives, or until that takes long. */
    showLoading(limit: number, isLong = false): void {
      table.ariaBusy = 'true'
      // These rows belong to the list before.
      if (isLong && state.page === undefined && rows.size > 0) clear()
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
    showPart(page: ListPage, isStopped: boolean): void {
      table.ariaBusy = String(!isStopped)
      isPart = true
      if (page.animals.length > 0) showPage(page)
      else
        showMessage({
          title: 'Nothing found yet',
          text: isStopped ? 'The search was stopped.' : 'The search goes on.',
          link: '',
        })
    },

    showError(text: string): void {
      table.ariaBusy = 'false'
      showMessage({ title: 'This page cannot be shown', text, link: 'Show all animals' })
    },

    /** Marks rows for a few seconds. */
    markNew(ids: readonly bigint[]): void {
      const newRows = ids.flatMap(id => rows.get(id)?.element ?? [])
      for (const row of newRows) row.classList.add('new')
      setTimeout(() => {
        for (const row of newRows) row.classList.remove('new')
      }, NEW_MS)
    },

    focusRow(id: bigint): void {
      const row = rows.get(id)?.element
      row?.querySelector('a')?.focus({ preventScroll: true })
      row?.scrollIntoView({ block: 'nearest' })
    },

    clear,
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
      const searched = status === 'none' ? 'animals without a status' : `${status} animals`
      return { title, text: `Only ${searched} were searched.`, link: 'Search all animals', target }
    }
    const text = 'The search finds parts of names. For a category, write category:7.'
    return { title, text, ...showAll(page) }
  }
  if (status === undefined) return { title: 'No animals yet', text: 'The catalogue is empty.' }
  return { title: `No ${animal}`, text: 'No animal has this status now.', ...showAll(page) }
}

/** Fills an element that shows the animal already, or a new one. */
function renderRow(element = createRow(), { animal, rowNote, searched }: Omit<Row, 'element'>): Row {
  const { id, name, categoryId, status } = animal
  find('.id', HTMLElement, element).textContent = String(id)
  find('input', HTMLInputElement, element).ariaLabel = `Mark ${shortenName(name)}`
  find('.name span', HTMLElement, element).replaceChildren(...markMatches(name, searched))
  const category = find('.category', HTMLAnchorElement, element)
  category.textContent = String(categoryId)
  category.title = String(categoryId)
  const badge =
    rowNote === undefined ? createStatusBadge(status) : createElement('span', { class: 'row-note' }, rowNote)
  find('td:last-child', HTMLElement, element).replaceChildren(badge)
  return { element, animal, rowNote, searched }
}

function createRow(): HTMLTableRowElement {
  const box = createElement('input', { type: 'checkbox', tabindex: '-1' })
  return createElement(
    'tr',
    {},
    createElement(
      'td',
      { class: 'number', 'data-label': 'id' },
      createElement('label', { class: 'box writes' }, box),
      createElement('span', { class: 'id' }),
    ),
    createElement(
      'th',
      { scope: 'row' },
      createElement('a', { class: 'name', draggable: 'false' }, createElement('span', { dir: 'auto' })),
    ),
    createElement(
      'td',
      { class: 'number', 'data-label': 'category' },
      createElement('a', { class: 'category', 'data-page': '', tabindex: '-1' }),
    ),
    createElement('td'),
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
