// The form that adds an animal. It adds one animal even if it is sent twice.

import { type Animal, AnimalStoreError, newIdempotencyKey } from '../../../client/src/animal-store.ts'
import { isSameAnimal, type NewAnimal } from '../../animal.ts'
import { find, formatNumber } from './elements.ts'
import { createNewAnimalFields } from './new-animal-fields.ts'
import { SLOW_MS } from './notice.ts'
import type { Panel } from './panel.ts'

export interface AddAnimalForm {
  /** While a request is in flight the form cannot be changed or closed: the user must see whether it succeeded. */
  readonly isSending: boolean
  open(): void
  /** Moves the focus back to where it was before the form was opened. */
  returnFocus(): void
  /** Empties the fields. */
  reset(): void
}

export interface AddAnimalFormOptions {
  readonly panel: () => Panel
  /** Rejects if the session ends first. */
  readonly create: (animal: NewAnimal, idempotencyKey: string) => Promise<Animal>
  readonly onAdded: (animal: Animal) => void
  readonly onUnauthorized: () => void
}

export function createAddAnimalForm(options: AddAnimalFormOptions): AddAnimalForm {
  const { panel, create, onAdded, onUnauthorized } = options
  const form = find('#add-animal form', HTMLFormElement)
  const fieldset = find('#add-animal fieldset', HTMLFieldSetElement)
  const submit = find('#add-animal [type=submit]', HTMLButtonElement)
  const addAnother = find('#add-another', HTMLInputElement)
  const problem = find('#add-problem', HTMLElement)
  const fields = createNewAnimalFields(form)
  /** The same animal is sent again with the same key, so that the server adds it once. */
  let lastSent: { readonly animal: NewAnimal; readonly idempotencyKey: string } | undefined
  let opener: Element | null = null
  /** How many animals were added since the form was opened. */
  let addedCount = 0
  let slowTimer: ReturnType<typeof setTimeout> | undefined

  async function send(): Promise<void> {
    const animal = fields.read()
    if (animal === undefined) return
    if (lastSent === undefined || !isSameAnimal(lastSent.animal, animal)) {
      lastSent = { animal, idempotencyKey: newIdempotencyKey() }
    }
    setSending(true)
    try {
      const added = await create(animal, lastSent.idempotencyKey)
      setSending(false)
      lastSent = undefined
      showAddedCount(addedCount + 1)
      if (addAnother.checked) fields.startNext()
      else {
        fields.reset()
        panel().close()
      }
      onAdded(added)
    } catch (error) {
      setSending(false)
      if (error instanceof AnimalStoreError && error.code === 'unauthorized') onUnauthorized()
      else problem.textContent = describeError(error)
    }
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

  form.addEventListener('submit', event => {
    event.preventDefault()
    send()
  })

  return {
    get isSending() {
      return fieldset.disabled
    },
    open() {
      problem.textContent = ''
      if (panel().content !== 'add-animal') {
        opener = document.activeElement
        fields.clearProblems()
        showAddedCount(0)
      }
      panel().open('add-animal')
      find('#name', HTMLInputElement).focus()
    },
    returnFocus() {
      if (opener instanceof HTMLElement) opener.focus({ preventScroll: true })
    },
    reset() {
      lastSent = undefined
      problem.textContent = ''
      fields.reset()
    },
  }
}

function describeError(error: unknown): string {
  if (!(error instanceof AnimalStoreError)) return `Something went wrong on this page: ${error}`
  if (error.status === undefined)
    return 'The server cannot be reached. Press Add to try again: the animal is added only once.'
  return `${error.message}${error.requestId === undefined ? '' : ` (request ${error.requestId})`}`
}
