// The form to add an animal: its rules as one types, and one animal for however many clicks.

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

export interface Adding {
  open(): void
  /** Closes it, and forgets what was filled in. */
  forget(): void
}

export interface AddingOptions {
  /** Rejects with the reason of an `AbortSignal` once nobody waits for it any more. */
  readonly create: (animal: NewAnimal, idempotencyKey: string) => Promise<Animal>
  readonly onAdded: (animal: Animal) => void
  readonly onUnauthorized: () => void
}

export function adding({ create, onAdded, onUnauthorized }: AddingOptions): Adding {
  const dialog = find('#adding', HTMLDialogElement)
  const form = find('#adding form', HTMLFormElement)
  const fields = find('#adding fieldset', HTMLFieldSetElement)
  const name = find('#name', HTMLInputElement)
  const category = find('#category', HTMLInputElement)
  const status = find('#new-status', HTMLSelectElement)
  const submit = find('#adding [type=submit]', HTMLButtonElement)
  const problem = find('#adding-problem', HTMLElement)
  /** One key for each animal, so that to send it again adds nothing again. */
  let sent: { readonly animal: NewAnimal; readonly key: string } | undefined

  function judge(): NewAnimal | undefined {
    const nameProblem = problemOf({ name: name.value, categoryId: 0n })
    const categoryId = canonicalInteger(category.value.trim())
    showRule(name, nameProblem === undefined, `${[...name.value].length} so far.`)
    showRule(category, categoryId !== undefined, '')
    if (nameProblem !== undefined || categoryId === undefined) return undefined
    const chosen = status.value === '' ? {} : { status: status.value }
    return parseNewAnimal({ name: name.value, categoryId, ...chosen })
  }

  async function send(): Promise<void> {
    for (const field of [name, category]) touch(field)
    const animal = judge()
    if (animal === undefined) {
      const wrong = [name, category].find(field => field.ariaInvalid === 'true')
      wrong?.focus()
      return
    }
    if (sent === undefined || !isSameAnimal(sent.animal, animal)) sent = { animal, key: newIdempotencyKey() }
    wait(true)
    try {
      const added = await create(animal, sent.key)
      forget()
      onAdded(added)
    } catch (error) {
      if (error instanceof AnimalStoreError && error.code === 'unauthorized') onUnauthorized()
      else if (dialog.open) problem.textContent = wordsFor(error)
    } finally {
      wait(false)
    }
  }

  let slow: ReturnType<typeof setTimeout> | undefined

  /** While it waits nothing can be changed or closed: nobody would know what was added. */
  function wait(isWaiting: boolean): void {
    fields.disabled = isWaiting
    submit.textContent = isWaiting ? 'Adding …' : 'Add'
    clearTimeout(slow)
    if (!isWaiting) return
    problem.textContent = ''
    slow = setTimeout(() => {
      problem.textContent = 'The server is slow to answer. Still waiting …'
    }, SLOW_MS)
  }

  function forget(): void {
    sent = undefined
    form.reset()
    dialog.close()
  }

  form.addEventListener('submit', event => {
    event.preventDefault()
    send()
  })
  form.addEventListener('input', event => {
    if (event.target instanceof HTMLInputElement) touch(event.target)
    judge()
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
      judge()
      dialog.showModal()
    },
    forget,
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
