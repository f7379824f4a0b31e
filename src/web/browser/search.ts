// The search: the field in the bar, and which animals match. The API cannot search, so the page searches the animals
// that it has walked through. A number in the field goes to the animal with this id.

import type { Animal, ListOptions, Page } from '../../../client/src/animal-store.ts'
import { PAGE_LIMIT } from '../../animal.ts'
import { find } from './elements.ts'
import type { ListLocation } from './location.ts'
import { isInteger, parseInteger } from './typed-integer.ts'

const HINT = 'A number goes to that id. category:7 finds a category.'

const CATEGORY = /^category:(.+)/

export interface SearchField {
  focus(): void
  /** Shows the search of the URL, unless the user is typing. */
  show(search: string | undefined): void
}

export interface SearchFieldOptions {
  /** Called with undefined when the field is empty. */
  readonly onSearch: (search: string | undefined) => void
  readonly onGoToId: (id: bigint) => void
  /** The user leaves the field for the results. */
  readonly onDone: () => void
}

export function createSearchField({ onSearch, onGoToId, onDone }: SearchFieldOptions): SearchField {
  const field = find('#search-field', HTMLInputElement)
  const hint = find('#search-hint', HTMLElement)
  // People write "#1204" for an id.
  const typed = () => field.value.trim().replace(/^#\s*(?=[+-]?\d)/, '')

  function showHint(): void {
    const id = parseInteger(typed())
    field.ariaInvalid = String(id === undefined && isInteger(typed()))
    if (id !== undefined) hint.textContent = `Press Enter to go to id ${id}.`
    else hint.textContent = isInteger(typed()) ? 'No animal can have this id: it is out of range.' : HINT
    // The results of a search say enough.
    hint.hidden = typed() !== '' && !isInteger(typed())
  }

  field.addEventListener('input', () => {
    showHint()
    if (!isInteger(typed())) onSearch(typed() || undefined)
  })
  field.addEventListener('keydown', event => {
    const isDown = event.key === 'ArrowDown'
    if (!isDown && event.key !== 'Escape') return
    event.preventDefault()
    if (isDown) return onDone()
    if (field.value === '') return field.blur()
    field.value = ''
    showHint()
    onSearch(undefined)
  })
  find('#search', HTMLFormElement).addEventListener('submit', event => {
    event.preventDefault()
    const id = parseInteger(typed())
    if (id !== undefined) onGoToId(id)
    else if (!isInteger(typed()) && typed() !== '') onDone()
  })

  return {
    focus() {
      field.focus()
      field.select()
    },
    show(search) {
      const isTyping = isInteger(typed()) || typed() === search
      if (document.activeElement !== field || !isTyping) field.value = search ?? ''
      showHint()
    },
  }
}

/** Finds animals whose name has all the words. A word can be a category too. */
export function findMatches(animals: readonly Animal[], { search = '', status }: ListLocation): Animal[] {
  const words = fold(search.replace(/category:\s+/gi, 'category:')).split(/\s+/)
  return animals.filter(animal => {
    if (status !== undefined && (animal.status ?? 'none') !== status) return false
    const [name, category] = [foldedName(animal), String(animal.categoryId)]
    return words.every(word => {
      const [, wanted] = CATEGORY.exec(word) ?? []
      return wanted === undefined ? name.includes(word) || word === category : wanted === category
    })
  })
}

/** The accents of Latin, Greek and Cyrillic letters, and the vowel marks of Arabic. Marks of other scripts are letters. */
const ACCENTS = /[\u0300-\u036f\u064b-\u0652]/g

/** Without upper case and accents, so that "zoe" finds "Zoë". */
function fold(text: string): string {
  return text.normalize('NFD').replace(ACCENTS, '').toLowerCase()
}

/** Every name is folded once, because a search runs again each time that the page has walked further. */
const foldedNames = new WeakMap<Animal, string>()

function foldedName(animal: Animal): string {
  const known = foldedNames.get(animal)
  if (known !== undefined) return known
  const name = fold(animal.name)
  foldedNames.set(animal, name)
  return name
}

/** A page of these animals, which have ascending ids, as the API would list it. */
export function pageOf(
  animals: readonly Animal[],
  { limit = PAGE_LIMIT.default, after, before }: ListOptions,
): Page {
  const indexOf = (isReached: (id: bigint) => boolean) => {
    const index = animals.findIndex(({ id }) => isReached(id))
    return index === -1 ? animals.length : index
  }
  const end = before === undefined ? undefined : indexOf(id => id >= before)
  const start =
    end === undefined ? indexOf(id => after === undefined || id > after) : Math.max(0, end - limit)
  const shown = animals.slice(start, end ?? start + limit)
  const [first, last] = [shown[0], shown.at(-1)]
  return {
    animals: shown,
    previous: first !== undefined && start > 0 ? { before: first.id } : undefined,
    next: last !== undefined && last !== animals.at(-1) ? { after: last.id } : undefined,
  }
}

/** Shows how many animals were found and how far the search is, or that the list is no search. */
export function showSearchResult(text: string | undefined): void {
  find('#search-result', HTMLElement).hidden = text === undefined
  const element = find('#search-result span', HTMLElement)
  // Otherwise a screen reader would announce the same text again.
  if (element.textContent !== text) element.textContent = text ?? ''
}
