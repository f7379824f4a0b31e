// The search: the field in the bar, and which animals match. The page does not use the
// search of the API yet: it searches the animals that it has walked through. A number in the field goes to the animal with this id.

import type { Animal, ListOptions, Page } from '../../../client/src/animal-store.ts'
import { PAGE_LIMIT } from '../../animal.ts'
import { MAX_WALKED, type Walked } from './catalogue-walk.ts'
import { find, formatNumber, keepFocus } from './elements.ts'
import { isSearch, type ListLocation } from './location.ts'
import { isInteger, parseInteger } from './typed-integer.ts'

const HINT = 'A number goes to that id. category:7 finds a category.'

const CATEGORY = /^category:(.+)/

export interface SearchFieldOptions {
  /** Called with undefined when the field is empty. */
  readonly onSearch: (search: string | undefined) => void
  readonly onGoToId: (id: bigint) => void
  /** The user leaves the field for the results. */
  readonly onDone: () => void
}

export function createSearchField({ onSearch, onGoToId, onDone }: SearchFieldOptions) {
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
    if (event.key !== 'ArrowDown' && event.key !== 'Escape') return
    event.preventDefault()
    if (event.key === 'ArrowDown') return onDone()
    if (field.value === '') return field.blur()
    field.value = ''
    showHint()
    onSearch(undefined)
  })
  find('#search', HTMLFormElement).addEventListener('submit', event => {
    event.preventDefault()
    const id = parseInteger(typed())
    if (id !== undefined) {
      field.value = ''
      keepFocus(field)
      onGoToId(id)
    } else if (!isInteger(typed()) && typed() !== '') onDone()
  })

  return {
    focus(): void {
      field.focus()
      field.select()
    },
    /** Shows the search of the URL, but keeps the spaces around it while the user types. */
    show(search = ''): void {
      if (typed() !== search) field.value = search
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
  const name = foldedNames.get(animal) ?? fold(animal.name)
  foldedNames.set(animal, name)
  return name
}

/** A page of these animals, which have ascending ids, as the API would list it. */
export function pageOf(
  animals: readonly Animal[],
  { limit = PAGE_LIMIT.default, after, before }: ListOptions,
): Page {
  const matches = animals.filter(
    ({ id }) => (after === undefined || id > after) && (before === undefined || id < before),
  )
  const shown = before === undefined ? matches.slice(0, limit) : matches.slice(-limit)
  const [first, last] = [shown[0], shown.at(-1)]
  return {
    animals: shown,
    previous: first !== undefined && first !== animals[0] ? { before: first.id } : undefined,
    next: last !== undefined && last !== animals.at(-1) ? { after: last.id } : undefined,
  }
}

/** Shows how many animals were found and how far the search is, unless the list is no search. */
export function showSearchResult(walked: Walked, location: ListLocation | undefined): void {
  const isShown = location !== undefined && isSearch(location)
  const text = isShown
    ? `${formatNumber(findMatches(walked.animals, location).length)} found. ${describeProgress(walked)}`
    : ''
  find('#search-result', HTMLElement).hidden = !isShown
  const element = find('#search-result span', HTMLElement)
  // Otherwise a screen reader would announce the same text again.
  if (element.textContent !== text) element.textContent = text
}

function describeProgress({ state, animals }: Walked): string {
  if (state === 'capped') return `Searched the first ${formatNumber(MAX_WALKED)}`
  const count = formatNumber(animals.length)
  return state === 'counting' ? `Searched ${count} so far …` : `Searched ${count} of ${count}`
}
