// The form that adds an animal. It checks the fields while the user types, and adds one animal even if it is sent twice.

import {
  type Animal,
  AnimalStoreError,
  type NewAnimal,
  newIdempotencyKey,
} from '../../../client/src/animal-store.ts'
import { isSameAnimal, parseNewAnimal } from '../../animal.ts'
import { ServiceError } from '../../error.ts'
import { canonicalInteger } from '../../json.ts'
import { find } from './elements.ts'
import { SLOW_MS } from './notice.ts'

export interface AddAnimalForm {
  open(): void
  /** Closes the form and clears its fields. */
  reset(): void
}

export interface AddAnimalFormOptions {
  /** Rejects if the session ends first. */
  readonly create: (animal: NewAnimal, idempotencyKey: string) => Promise<Animal>
  readonly onAdded: (animal: Animal) => void
  readonly onUnauthorized: () => void
}

export function createAddAnimalForm({
  create,
  onAdded,
  onUnauthorized,
}: AddAnimalFormOptions): AddAnimalForm {
  const dialog = find('#add-dialog', HTMLDialogElement)
  const form = find('#add-dialog form', HTMLFormElement)
  const fields = find('#add-dialog fieldset', HTMLFieldSetElement)
  const name = find('#name', HTMLInputElement)
  const category = find('#category', HTMLInputElement)
  const status = find('#new-status', HTMLSelectElement)
  const submit = find('#add-dialog [type=submit]', HTMLButtonElement)
  const problem = find('#add-problem', HTMLElement)
  /** The same animal is sent again with the same key, so that the server adds it once. */
  let lastSent: { readonly animal: NewAnimal; readonly idempotencyKey: string } | undefined
  let slowTimer: ReturnType<typeof setTimeout> | undefined

  /** Shows which fields are valid. Returns the animal if all are. */
  function validate(): NewAnimal | undefined {
    const nameError = validationError({ name: name.value, categoryId: 0n })
    const categoryId = canonicalInteger(category.value.trim())
    showRule(name, nameError === undefined, `${[...name.value].length} so far.`)
    showRule(category, categoryId !== undefined, '')
    if (nameError !== undefined || categoryId === undefined) return undefined
    const chosen = status.value === '' ? {} : { status: status.value }
    return parseNewAnimal({ name: name.value, categoryId, ...chosen })
  }

  async function send(): Promise<void> {
    for (const field of [name, category]) markTouched(field)
    const animal = validate()
    if (animal === undefined) {
      const firstInvalid = [name, category].find(field => field.ariaInvalid === 'true')
      firstInvalid?.focus()
      return
    }
    if (lastSent === undefined || !isSameAnimal(lastSent.animal, animal)) {
      lastSent = { animal, idempotencyKey: newIdempotencyKey() }
    }
    setSending(true)
    try {
      const added = await create(animal, lastSent.idempotencyKey)
      reset()
      onAdded(added)
    } catch (error) {
      if (error instanceof AnimalStoreError && error.code === 'unauthorized') onUnauthorized()
      else if (dialog.open) problem.textContent = describeError(error)
    } finally {
      setSending(false)
    }
  }

  /** While the request is in flight the form cannot be changed or closed: the user must see whether it succeeded. */
  function setSending(isSending: boolean): void {
    fields.disabled = isSending
    submit.textContent = isSending ? 'Adding …' : 'Add'
    clearTimeout(slowTimer)
    if (!isSending) return
    problem.textContent = ''
    slowTimer = setTimeout(() => {
      problem.textContent = 'The server is slow to answer. Still waiting …'
    }, SLOW_MS)
  }

  function reset(): void {
    lastSent = undefined
    form.reset()
    dialog.close()
  }

  form.addEventListener('submit', event => {
    event.preventDefault()
    send()
  })
  form.addEventListener('input', event => {
    if (event.target instanceof HTMLInputElement) markTouched(event.target)
    validate()
  })
  dialog.addEventListener('cancel', event => {
    if (fields.disabled) event.preventDefault()
  })
  dialog.addEventListener('close', () => {
    problem.textContent = ''
  })
  find('#cancel', HTMLButtonElement).addEventListener('click', () => dialog.close())

  return {
    open() {
      for (const field of [name, category]) delete field.dataset.isTouched
      validate()
      dialog.showModal()
    },
    reset,
  }
}

function validationError(body: object): string | undefined {
  try {
    parseNewAnimal(body)
    return undefined
  } catch (error) {
    return error instanceof ServiceError ? error.message : String(error)
  }
}

function markTouched(field: HTMLInputElement): void {
  field.dataset.isTouched = 'true'
}

/** A field is shown as invalid only after the user has typed in it or sent the form. */
function showRule(field: HTMLInputElement, isValid: boolean, note: string): void {
  const rule = find(`#${field.id}-rule`, HTMLElement)
  const isShownInvalid = !isValid && field.dataset.isTouched === 'true'
  field.ariaInvalid = String(isShownInvalid)
  rule.dataset.state = isValid ? 'valid' : isShownInvalid ? 'invalid' : 'untouched'
  rule.textContent = [rule.dataset.rule, note].filter(Boolean).join(' ')
}

function describeError(error: unknown): string {
  if (!(error instanceof AnimalStoreError)) return `Something went wrong on this page: ${error}`
  if (error.status === undefined)
    return 'The server cannot be reached. Press Add to try again: the animal is added only once.'
  return `${error.message}${error.requestId === undefined ? '' : ` (request ${error.requestId})`}`
}
