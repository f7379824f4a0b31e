// The form that adds an animal. It adds one animal even if it is sent twice. A field shows what is wrong with it after the
// user has left it, in words that do not assume any knowledge of the API.

import { type Animal, AnimalStoreError, newIdempotencyKey } from '../../../client/src/animal-store.ts'
import { isSameAnimal, isStatus, NAME_MAX_LENGTH, type NewAnimal, parseNewAnimal } from '../../animal.ts'
import { formatNumber } from '../../count.ts'
import { INT64_MAX, INT64_MIN } from '../../json.ts'
import { find } from './elements.ts'
import { SLOW_MS } from './notice.ts'
import type { Panel } from './panel.ts'
import type { Session } from './session.ts'
import { isInteger, parseInteger } from './typed-integer.ts'

interface AddAnimalFormOptions {
  readonly panel: Panel
  readonly session: Session
  readonly onAdded: (animal: Animal) => void
}

export function createAddAnimalForm({ panel, session, onAdded }: AddAnimalFormOptions) {
  const form = find('#add-animal form', HTMLFormElement)
  const fieldset = find('#add-animal fieldset', HTMLFieldSetElement)
  const submit = find('#add-animal [type=submit]', HTMLButtonElement)
  const problem = find('#add-problem', HTMLElement)
  const name = find('#name', HTMLInputElement)
  const category = find('#category', HTMLInputElement)
  /** The same animal is sent again with the same key, so that the server adds it once. */
  let lastSent: { readonly animal: NewAnimal; readonly idempotencyKey: string } | undefined
  let opener: Element | null = null
  /** How many animals were added since the form was opened. */
  let addedCount = 0
  let slowTimer: ReturnType<typeof setTimeout> | undefined

  async function send(): Promise<void> {
    const animal = readAnimal()
    const { store, signal } = session
    if (animal === undefined || store === undefined) return
    if (lastSent === undefined || !isSameAnimal(lastSent.animal, animal)) {
      lastSent = { animal, idempotencyKey: newIdempotencyKey() }
    }
    setSending(true)
    try {
      const added = await store.createAnimal(animal, { idempotencyKey: lastSent.idempotencyKey, signal })
      setSending(false)
      lastSent = undefined
      showAddedCount(addedCount + 1)
      if (find('#add-another', HTMLInputElement).checked) startNext()
      else {
        reset()
        // The user may have opened an animal meanwhile.
        if (panel.content === 'add-animal') {
          panel.hide()
          returnFocus()
        }
      }
      onAdded(added)
    } catch (error) {
      setSending(false)
      // The button lost the focus when it was disabled.
      if (document.activeElement === document.body) submit.focus()
      if (error instanceof AnimalStoreError && error.code === 'unauthorized') session.rejectKey()
      else if (!signal.aborted) problem.textContent = describeError(error)
    }
  }

  /** Returns undefined if a field is invalid, which then has the focus. */
  function readAnimal(): NewAnimal | undefined {
    showProblem(name)
    showProblem(category)
    const invalid = [name, category].find(({ ariaInvalid }) => ariaInvalid === 'true')
    invalid?.focus()
    const categoryId = parseInteger(category.value)
    if (invalid !== undefined || categoryId === undefined) return undefined
    const status = new FormData(form).get('status')
    return { name: name.value, categoryId, ...(isStatus(status) && { status }) }
  }

  /** Category and status stay: the next animal often has the same ones. */
  function startNext(): void {
    name.value = ''
    clearProblems()
    name.focus()
  }

  /** Shows the hints again, until the user leaves a field. */
  function clearProblems(): void {
    problem.textContent = ''
    for (const input of [name, category]) showHint(input, undefined)
  }

  function reset(): void {
    lastSent = undefined
    form.reset()
    clearProblems()
  }

  /** Users compare the count with their delivery. The notice names only the last animal. */
  function showAddedCount(count: number): void {
    addedCount = count
    find('#added-count', HTMLElement).textContent = count === 0 ? '' : `${formatNumber(count)} added`
  }

  function setSending(isSending: boolean): void {
    fieldset.disabled = isSending
    submit.textContent = isSending ? 'Adding …' : 'Add'
    clearTimeout(slowTimer)
    if (!isSending) return
    problem.textContent = ''
    slowTimer = setTimeout(() => {
      problem.textContent = 'The server is slow to answer. Still waiting …'
    }, SLOW_MS)
  }

  /** Moves the focus back to where it was before the form was opened. */
  function returnFocus(): void {
    if (opener instanceof HTMLElement) opener.focus({ preventScroll: true })
  }

  for (const input of [name, category]) {
    input.addEventListener('blur', () => {
      if (input.value !== '') showProblem(input)
    })
    input.addEventListener('input', () => {
      if (input.ariaInvalid === 'true') showProblem(input)
    })
  }
  form.addEventListener('submit', event => {
    event.preventDefault()
    send()
  })
  reset()

  return {
    /** While a request is in flight the form cannot be changed or closed: the user must see whether it succeeded. */
    get isSending() {
      return fieldset.disabled
    },
    open(): void {
      if (panel.content !== 'add-animal') {
        opener = document.activeElement
        clearProblems()
        showAddedCount(0)
      }
      panel.open('add-animal')
      name.focus()
    },
    returnFocus,
    reset,
  }
}

function describeError(error: unknown): string {
  if (!(error instanceof AnimalStoreError)) return `Something went wrong on this page: ${error}`
  if (error.status === undefined)
    return 'The server cannot be reached. Press Add to try again: the animal is added only once.'
  return `${error.message}${error.requestId === undefined ? '' : ` (request ${error.requestId})`}`
}

function showProblem(input: HTMLInputElement): void {
  showHint(input, input.id === 'name' ? nameProblem(input.value) : categoryProblem(input.value))
}

/** The line below a field shows either its hint or its problem, so that nothing moves. */
function showHint(input: HTMLInputElement, problem: string | undefined): void {
  const hint = find(`#${input.id}-hint`, HTMLElement)
  const text = problem ?? hint.dataset.hint ?? ''
  input.ariaInvalid = String(problem !== undefined)
  if (hint.textContent !== text) hint.textContent = text
}

function nameProblem(name: string): string | undefined {
  if (name.trim() === '') return 'Enter a name.'
  const length = [...name].length
  if (length > NAME_MAX_LENGTH) {
    return `This name has ${formatNumber(length)} characters. ${formatNumber(NAME_MAX_LENGTH)} are possible.`
  }
  try {
    parseNewAnimal({ name, categoryId: 0n })
    return undefined
  } catch {
    return 'This name has characters that cannot be stored.'
  }
}

function categoryProblem(category: string): string | undefined {
  if (category.trim() === '') return 'Enter the number of the category.'
  if (!isInteger(category)) return 'Enter a whole number, such as 7.'
  if (parseInteger(category) === undefined) return `Enter a number from ${INT64_MIN} to ${INT64_MAX}.`
  return undefined
}
