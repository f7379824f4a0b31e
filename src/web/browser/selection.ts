// The selected animal: marked in the list, and shown whole in the panel.

import type { Animal } from '../../../client/src/animal-store.ts'
import type { AnimalTable } from './animal-table.ts'
import type { Details } from './details.ts'
import type { Panel } from './panel.ts'

/** Which animal to select when a page has loaded. */
export type Wanted = 'first' | 'last' | bigint

export interface SelectionOptions {
  readonly table: AnimalTable
  readonly details: Details
  readonly panel: Panel
  /** Goes to the page before or after this one. Returns false if there is none. */
  readonly turnPage: (direction: 1 | -1) => boolean
}

export interface Selection {
  /** Called with the animals of the page that is shown. */
  setAnimals(animals: readonly Animal[]): void
  select(id: bigint): void
  /** Selects the next animal or the previous one, on the next or previous page if necessary. */
  move(direction: 1 | -1): void
  /** Selects an animal of the page that is loaded next. */
  selectWhenLoaded(wanted: Wanted | undefined): void
  /** Moves the focus to the selected animal in the list. */
  focusRow(): void
  clear(): void
}

export function createSelection({ table, details, panel, turnPage }: SelectionOptions): Selection {
  let animals: readonly Animal[] = []
  let selectedId: bigint | undefined
  let wanted: Wanted | undefined

  function show(animal: Animal): void {
    selectedId = animal.id
    table.setSelected(animal.id)
    details.show(animal)
    details.setListed(true)
    panel.open('details')
    // A sheet covers the list, which cannot have the focus then.
    if (panel.isBesideList) table.focusRow(animal.id)
    else details.focus()
  }

  function find(wanted: Wanted): Animal | undefined {
    if (wanted === 'first') return animals[0]
    if (wanted === 'last') return animals.at(-1)
    return animals.find(({ id }) => id === wanted)
  }

  function select(wanted: Wanted): void {
    const animal = find(wanted)
    if (animal !== undefined) show(animal)
  }

  return {
    setAnimals(shown) {
      animals = shown
      if (wanted !== undefined) select(wanted)
      wanted = undefined
      table.setSelected(selectedId)
      // The panel keeps its animal while the user turns pages or filters, so that it can be compared with others.
      details.setListed(animals.some(({ id }) => id === selectedId))
    },
    select,
    move(direction) {
      const index = animals.findIndex(({ id }) => id === selectedId)
      const next = animals[index === -1 ? 0 : index + direction]
      if (next !== undefined) show(next)
      else if (index !== -1 && turnPage(direction)) wanted = direction === 1 ? 'first' : 'last'
    },
    selectWhenLoaded(next) {
      wanted = next
    },
    focusRow() {
      if (selectedId !== undefined) table.focusRow(selectedId)
    },
    clear() {
      selectedId = undefined
      table.setSelected(undefined)
    },
  }
}
