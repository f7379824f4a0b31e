// The list itself: rows, what stands there instead of rows, and the ways to the pages around it.

import type { Animal, Page } from '../../../client/src/animal-store.ts'
import { counted, find, lead, make } from './elements.ts'
import { addressOf, type Place } from './location.ts'

/** More would only make the page jump when fewer come. */
const SKELETON_ROWS = 20

export interface Around {
  readonly place: Place
  /** Where the page before begins; undefined on the first one. */
  readonly previous: Place | undefined
}

export function listing() {
  const table = find('#list table', HTMLTableElement)
  const rows = find('#rows', HTMLTableSectionElement)
  const instead = find('#instead', HTMLElement)
  const summary = find('#summary', HTMLElement)

  function showInstead(title: string, words: string, hasWayOut: boolean): void {
    find('#instead h2', HTMLElement).textContent = title
    find('#instead p', HTMLElement).textContent = words
    find('#instead a', HTMLElement).hidden = !hasWayOut
    instead.hidden = false
    table.hidden = true
    summary.textContent = ''
  }

  function showRows(animals: readonly Animal[], newest: bigint | undefined): void {
    rows.replaceChildren(...animals.map(animal => row(animal, animal.id === newest)))
    instead.hidden = true
    table.hidden = false
    const [first, last] = [animals[0], animals.at(-1)]
    summary.textContent = `${counted(animals.length, 'animal')}, ${
      animals.length === 1 ? `id ${first?.id}` : `ids ${first?.id} to ${last?.id}`
    }`
  }

  return {
    /** What was there stays until the next page has come. */
    wait({ limit }: Place): void {
      table.ariaBusy = 'true'
      if (rows.childElementCount > 0 || !instead.hidden) return
      const count = Math.min(limit, SKELETON_ROWS)
      rows.replaceChildren(...Array.from({ length: count }, skeletonRow))
    },

    show({ animals, next }: Page, { place, previous }: Around, newest: bigint | undefined): void {
      table.ariaBusy = 'false'
      if (animals.length > 0) showRows(animals, newest)
      else if (place.after !== undefined)
        showInstead('The end of the list', `No animal comes after id ${place.after}.`, true)
      else if (place.status !== undefined)
        showInstead(`Nothing is ${place.status}`, 'No animal has this status now.', true)
      else showInstead('No animals yet', 'The catalogue is empty. Add the first animal.', false)
      lead(find('#next', HTMLAnchorElement), next && addressOf({ ...place, after: next.after }))
      const isFirst = place.after === undefined
      lead(find('#first', HTMLAnchorElement), isFirst ? undefined : addressOf({ ...place, after: undefined }))
      lead(find('#previous', HTMLAnchorElement), previous && addressOf(previous))
    },

    refuse(words: string): void {
      table.ariaBusy = 'false'
      showInstead('This page cannot be shown', words, true)
      for (const id of ['#first', '#previous', '#next']) lead(find(id, HTMLAnchorElement), undefined)
    },

    forget(): void {
      rows.replaceChildren()
      instead.hidden = true
      table.hidden = false
      summary.textContent = ''
    },
  }
}

function row({ id, name, categoryId, status }: Animal, isNew: boolean): HTMLTableRowElement {
  return make(
    'tr',
    isNew ? { class: 'new' } : {},
    make('th', { scope: 'row' }, name),
    make('td', { 'data-label': 'Id' }, String(id)),
    make('td', { 'data-label': 'Category' }, String(categoryId)),
    make(
      'td',
      { 'data-label': 'Status' },
      make('span', { class: `badge ${status ?? 'none'}` }, status ?? '–'),
    ),
  )
}

function skeletonRow(): HTMLTableRowElement {
  const cells = ['th', 'td', 'td', 'td'] as const
  return make(
    'tr',
    { class: 'skeleton', 'aria-hidden': 'true' },
    ...cells.map(tag => make(tag, {}, make('span', {}, '\u00a0'))),
  )
}
