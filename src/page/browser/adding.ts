// The form to add an animal: its rules as one types, and one animal for however many clicks.

import { parseNewAnimal } from '../../animal.ts'
import {
  type Animal,
  AnimalStoreError,
  type NewAnimal,
  newIdempotencyKey,
} from '../../client/animal-store.ts'
import { ServiceError } from '../../error.ts'
import { canonicalInteger } from '../../json.ts'
import { find } from './elements.ts'

const SLOW_MS = 3_000

export interface Adding {
  open(): void
  close(): void
}

export interface AddingOptions {
  readonly create: (animal: NewAnimal, idempotencyKey: string) => Promise<Animal>
  readonly onAdded: (animal: Animal) => void
  readonly onUnauthorized: () => void
}

export function adding({ create, onAdded, onUnauthorized }: AddingOptions): Adding {
  const dialog = find('#adding', HTMLDialogElement)
  const form = find('#adding form', HTMLFormElement)
  const name = find('#name', HTMLInputElement)
  const category = find('#category', HTMLInputElement)
  const status = find('#new-status', HTMLSelectElement)
  const submit = find('#adding [type=submit]', HTMLButtonElement)
  const problem = find('#adding-problem', HTMLElement)
  /** One for each filled-in form, so that to send it again adds nothing again. */
  let key = newIdempotencyKey()
  let isSending = false

  function judge(): NewAnimal | undefined {
    const nameProblem = problemOf({ name: name.value, categoryId: 0n })
    const categoryId = canonicalInteger(category.value.trim())
    const length = [...name.value].length
    showRule(name, nameProblem === undefined, `${length} so far.`)
    showRule(category, categoryId !== undefined, '')
    if (nameProblem !== undefined || categoryId === undefined) return undefined
    const chosen = status.value === '' ? {} : { status: status.value }
    return parseNewAnimal({ name: name.value, categoryId, ...chosen })
  }

  async function send(): Promise<void> {
    if (isSending) return
    for (const field of [name, category]) touch(field)
    const animal = judge()
    if (animal === undefined) {
      const wrong = [name, category].find(field => field.ariaInvalid === 'true')
      wrong?.focus()
      return
    }
    isSending = true
    submit.disabled = true
    problem.textContent = ''
    const slow = setTimeout(() => {
      problem.textContent = 'The server is slow to answer. Still trying …'
    }, SLOW_MS)
    try {
      const added = await create(animal, key)
      close()
      form.reset()
      key = newIdempotencyKey()
      onAdded(added)
    } catch (error) {
      if (error instanceof AnimalStoreError && error.code === 'unauthorized') {
        close()
        onUnauthorized()
      }
      problem.textContent = wordsFor(error)
    } finally {
      clearTimeout(slow)
      isSending = false
      submit.disabled = false
    }
  }

  function close(): void {
    problem.textContent = ''
    dialog.close()
  }

  form.addEventListener('submit', event => {
    event.preventDefault()
    send()
  })
  form.addEventListener('input', event => {
    // Another animal than the one that may have been sent.
    key = newIdempotencyKey()
    if (event.target instanceof HTMLInputElement) touch(event.target)
    judge()
  })
  find('#cancel', HTMLButtonElement).addEventListener('click', close)

  return {
    open() {
      for (const field of [name, category]) delete field.dataset.isTouched
      judge()
      dialog.showModal()
    },
    close,
  }
}

function problemOf(body: object): string | undefined {
  try {
    parseNewAnimal(body)
    return undefined
  } catch (error) {
    return error instanceof ServiceError ? error.message : String(error)
  }
}

function touch(field: HTMLInputElement): void {
  field.dataset.isTouched = 'true'
}

/** A rule is only called broken once something was typed. */
function showRule(field: HTMLInputElement, isRight: boolean, note: string): void {
  const rule = find(`#${field.id}-rule`, HTMLElement)
  const isBroken = !isRight && field.dataset.isTouched === 'true'
  field.ariaInvalid = String(isBroken)
  rule.dataset.state = isRight ? 'right' : isBroken ? 'broken' : 'open'
  rule.textContent = [rule.dataset.rule, note].filter(Boolean).join(' ')
}

function wordsFor(error: unknown): string {
  if (!(error instanceof AnimalStoreError)) return `Something went wrong in this page: ${error}`
  if (error.status === undefined)
    return 'The server cannot be reached. Nothing is lost: press Add again, and it is added once.'
  return `${error.message}${error.requestId === undefined ? '' : ` (request ${error.requestId})`}`
}
