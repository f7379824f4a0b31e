// The selected animal: the URL names it, its row is marked, and the panel shows it whole, with its link, id and JSON to
// copy.

import { type Animal, AnimalStoreError } from '../../../client/src/animal-store.ts'
import type { AnimalTable } from './animal-table.ts'
import { enableCopyButton } from './copy-button.ts'
import { createElement, createStatusBadge, find } from './elements.ts'
import { pageFrom, parseListLocation, toCategoryUrl, toUrl } from './location.ts'
import type { Navigation } from './navigation.ts'
import type { Notice } from './notice.ts'
import type { Panel } from './panel.ts'
import type { Session } from './session.ts'
import type { PageState } from './state.ts'

interface SelectionOptions {
  readonly state: PageState
  readonly table: AnimalTable
  readonly panel: Panel
  readonly navigation: Navigation
  readonly session: Session
  readonly notice: Notice
}

export function createSelection(options: SelectionOptions) {
  const { state, table, panel, navigation, session, notice } = options
  const name = find('#details-name', HTMLElement)
  const json = find('#details-json', HTMLElement)
  const copyLink = find('#copy-link', HTMLButtonElement)
  /** The panel says that no animal has this id. */
  let missing: bigint | undefined

  enableCopyButton(copyLink, () => {
    const id = state.animal?.id ?? 0n
    return new URL(toUrl(pageFrom(id, 'newest', parseListLocation(''))), document.baseURI).href
  })
  enableCopyButton(find('#copy-id', HTMLButtonElement), () => String(state.animal?.id))
  enableCopyButton(find('#copy-json', HTMLButtonElement), () => json.textContent)
  find('#not-listed button', HTMLButtonElement).addEventListener('click', () => {
    const { animal, location } = state
    if (animal === undefined) return
    // The button disappears, so the row gets the focus.
    state.animal = undefined
    navigation.goTo(pageFrom(animal.id, location.order, location))
  })
  // The keyboard must reach a name that has to be scrolled.
  new ResizeObserver(() => {
    name.tabIndex = name.scrollHeight > name.clientHeight ? 0 : -1
  }).observe(name)

  /** Shows the animal that the URL names, in the list and in the panel. Asks the server if the list does not have it. */
  async function follow(): Promise<void> {
    const { location, page, animal: shown } = state
    const id = location.animal
    table.setSelected(id)
    const isShown = id !== undefined && (shown?.id === id || missing === id)
    const listed = page?.animals.find(animal => animal.id === id)
    find('#not-listed', HTMLElement).hidden = listed !== undefined
    if (shown !== undefined) showCategoryLink(shown)
    const isOpen = panel.content === 'details' || panel.content === 'missing'
    if (isShown && isOpen) return
    if (isOpen) {
      panel.hide()
      // The browser's Back button closes the panel and leaves the focus nowhere.
      if (document.activeElement === document.body) focusRow()
    }
    state.animal = undefined
    missing = undefined
    if (id === undefined) return
    const animal = listed ?? (shown?.id === id ? shown : await findUnlisted(id))
    if (animal !== undefined && state.location.animal === id) show(animal, listed !== undefined)
  }

  function show(animal: Animal, isListed: boolean): void {
    state.animal = animal
    name.textContent = animal.name
    find('#details-id', HTMLElement).textContent = String(animal.id)
    showCategoryLink(animal)
    find('#details-status', HTMLElement).replaceChildren(createStatusBadge(animal.status))
    json.replaceChildren(...renderIndented(animal))
    navigation.showTitle()
    panel.open('details')
    // A sheet covers the list, which cannot have the focus then.
    if (!panel.isBesideList) name.focus()
    else if (isListed) table.focusRow(animal.id)
  }

  /** The link keeps the filter, which may change while the animal is shown. */
  function showCategoryLink({ categoryId }: Animal): void {
    const link = find('#details-category', HTMLAnchorElement)
    link.textContent = String(categoryId)
    link.href = toCategoryUrl(categoryId, state.location)
  }

  /** The link stays: it may be shared again, or be corrected. */
  function showMissing(id: bigint): void {
    missing = id
    const title = find('#missing-title', HTMLElement)
    title.textContent = `No animal has id ${id}`
    panel.open('missing')
    if (!panel.isBesideList) title.focus()
  }

  async function findUnlisted(id: bigint): Promise<Animal | undefined> {
    try {
      const animal = await session.store?.findAnimal(id, { signal: session.signal })
      if (animal === undefined && state.location.animal === id) showMissing(id)
      return animal
    } catch (error) {
      const action = { label: 'Try again', run: follow }
      if (error instanceof AnimalStoreError && error.code === 'unauthorized') session.rejectKey()
      else if (state.location.animal === id && !session.signal.aborted)
        notice.show(`The animal with the id ${id} cannot be loaded right now.`, { action })
      return undefined
    }
  }

  /** Moves the focus to the selected animal in the list, or to the first one. */
  function focusRow(): void {
    const ids = state.page?.animals.map(({ id }) => id) ?? []
    const id = ids.find(listed => listed === state.location.animal) ?? ids[0]
    if (id !== undefined) table.focusRow(id)
  }

  function select(id: bigint, replaces = false): void {
    navigation.goTo({ ...state.location, animal: id }, { replaces })
  }

  return {
    follow,
    focusRow,
    select,
    /** Selects the next animal or the previous one, on the next or previous page if necessary. */
    move(direction: 1 | -1): void {
      const { page, location } = state
      const animals = page?.animals ?? []
      const index = animals.findIndex(({ id }) => id === location.animal)
      const next = animals[index === -1 ? 0 : index + direction]
      if (next !== undefined) select(next.id, location.animal !== undefined)
      else if (index !== -1 && navigation.turnPage(direction))
        state.selectNext = direction === 1 ? 'first' : 'last'
    },
    copyLink(): void {
      if (panel.content === 'details') copyLink.click()
    },
  }
}

/** Written by hand, because `JSON.stringify` cannot render exact integers in every browser. */
function renderIndented({ id, name, categoryId, status }: Animal): (HTMLElement | string)[] {
  // A name in a right-to-left script must not change the order of what follows.
  const isolatedName = createElement('bdi', {}, JSON.stringify(name).slice(1, -1))
  const ending = status === undefined ? '' : `,\n  "status": ${JSON.stringify(status)}`
  return [`{\n  "id": ${id},\n  "name": "`, isolatedName, `",\n  "categoryId": ${categoryId}${ending}\n}`]
}
