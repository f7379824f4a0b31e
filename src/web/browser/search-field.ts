// The search field in the bar. What is typed is searched for; a number can also be an id to go to.

import { createElement, find } from './elements.ts'
import { isCategoryMistyped } from './location.ts'
import { isInteger, parseInteger } from './typed-integer.ts'

const HINT = 'Part of a name, an id, or category:7.'

/** How long the field waits for further characters. */
const TYPING_MS = 150

interface SearchFieldOptions {
  /** Called with undefined when the field is empty. */
  readonly onSearch: (search: string | undefined) => void
  /** Resolves with what is wrong, if the list cannot go to this id. */
  readonly checkId: (id: bigint) => Promise<string | undefined>
  readonly onGoToId: (id: bigint) => void
  /** The user leaves the field for the results. */
  readonly onDone: () => void
  /** The user leaves the field for where the keyboard was before. */
  readonly onLeft: () => void
}

export function createSearchField({ onSearch, checkId, onGoToId, onDone, onLeft }: SearchFieldOptions) {
  const form = find('#search', HTMLFormElement)
  const field = find('#search-field', HTMLInputElement)
  const hint = find('#search-hint', HTMLElement)
  /** What is searched for now. */
  let searched = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  const typed = () => field.value.trim()
  // People write "#1204" for an id.
  const typedId = () => typed().replace(/^#\s*(?=[+-]?\d)/, '')

  function cancelTimer(): void {
    clearTimeout(timer)
    timer = undefined
  }

  /** Returns false if what was typed cannot be searched for. */
  function search(): boolean {
    cancelTimer()
    if (isCategoryMistyped(typed())) {
      showProblem('A category is a whole number, such as category:7.')
      return false
    }
    searched = typed()
    showHint()
    onSearch(searched || undefined)
    return true
  }

  async function goToId(id: bigint): Promise<void> {
    cancelTimer()
    const text = field.value
    const problem = await checkId(id)
    // The user has gone on meanwhile.
    if (field.value !== text) return
    if (problem !== undefined) return showProblem(problem)
    field.value = ''
    onGoToId(id)
  }

  function showHint(): void {
    const id = parseInteger(typedId())
    const isNumber = isInteger(typedId()) && typed() !== searched
    field.ariaInvalid = 'false'
    hint.className = 'hint'
    hint.replaceChildren(...(isNumber ? renderChoices(id) : [HINT]))
    // The results of a search say enough.
    hint.hidden = typed() !== '' && !isNumber
  }

  /** A name may have digits only, so a number offers both. */
  function renderChoices(id: bigint | undefined): HTMLElement[] {
    const searchNames = createElement('button', { type: 'button' }, `Search names for “${typed()}”`)
    searchNames.addEventListener('click', () => {
      // The button disappears.
      field.focus()
      search()
    })
    if (id === undefined) return [searchNames]
    const enter = createElement('kbd', { 'aria-hidden': 'true' }, 'Enter')
    const goTo = createElement('button', { type: 'button' }, `Go to id ${id}`, enter)
    goTo.addEventListener('click', () => goToId(id))
    return [goTo, searchNames]
  }

  /** Stays until the user does something else. */
  function showProblem(problem: string): void {
    field.ariaInvalid = 'true'
    hint.className = 'problem'
    hint.textContent = problem
    hint.hidden = false
  }

  field.addEventListener('input', () => {
    showHint()
    cancelTimer()
    if (typed() === '') search()
    else if (!isInteger(typedId())) timer = setTimeout(search, TYPING_MS)
  })
  // The user goes on with what was typed, such as with a filter. This comes before what the click does.
  document.addEventListener('click', () => timer !== undefined && search(), { capture: true })
  document.addEventListener('pointerdown', ({ target }) => {
    const isOutside = target instanceof Node && !form.contains(target)
    if (isOutside && hint.className === 'problem') showHint()
  })
  field.addEventListener('keydown', event => {
    if (event.key !== 'ArrowDown' && event.key !== 'Escape') return
    event.preventDefault()
    if (event.key === 'ArrowDown') return onDone()
    if (field.value === '') {
      field.blur()
      onLeft()
      return
    }
    field.value = ''
    search()
  })
  form.addEventListener('submit', event => {
    event.preventDefault()
    const id = parseInteger(typedId())
    if (id !== undefined && typed() !== searched) goToId(id)
    else if (search() && typed() !== '') onDone()
  })
  // A button of the hint can only be clicked while the field keeps the focus.
  hint.addEventListener('mousedown', event => event.preventDefault())

  return {
    focus(): void {
      field.focus()
      field.select()
    },
    /** Shows the search of the URL, but keeps the spaces around it while the user types. */
    show(shown = ''): void {
      searched = shown
      cancelTimer()
      if (typed() !== shown) field.value = shown
      showHint()
    },
  }
}
