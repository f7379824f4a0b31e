// The form that adds an animal. It adds one animal even if it is sent twice, also after a reload without an answer.

import { type Animal, newIdempotencyKey } from '../../../client/src/animal-store.ts'
import { isSameAnimal, isStatus, type NewAnimal } from '../../animal.ts'
import { formatNumber } from '../../number-format.ts'
import { createAnimalFields } from './animal-fields.ts'
import { tabValue } from './browser-storage.ts'
import { find, setText } from './elements.ts'
import { describeFailure, mayBeStored } from './failures.ts'
import type { Session } from './session.ts'
import type { PageState } from './state.ts'

const MAY_BE_ADDED =
  'The animal may have been added. Press Add again: if you change nothing, it is added only once.'
const CHANGED = 'The animal before this change may be in the list already. Look there first.'

/** What was sent without an answer, and its key. */
const storedRequest = tabValue('animal-store-new-animal')

interface AddAnimalFormOptions {
  readonly state: PageState
  readonly session: Session
  readonly render: () => void
  readonly onAdded: (animal: Animal) => void
}

export function createAddAnimalForm({ state, session, render, onAdded }: AddAnimalFormOptions) {
  const fields = createAnimalFields('#add-animal', { busyLabel: 'Adding …', onSubmit: send })
  const { form, name, category, problem } = fields
  /** The same animal is sent again with the same key, so that the server adds it once. */
  let lastSent: { readonly animal: NewAnimal; readonly idempotencyKey: string } | undefined
  /** What to do about the animal that was sent last, if it may have been added. */
  let advice = ''
  let opener: Element | null = null
  /** How many animals were added since the form was opened. */
  let addedCount = 0

  /** Returns undefined if a field is invalid. */
  function readAnimal(): NewAnimal | undefined {
    const typed = fields.read()
    const status = new FormData(form).get('status')
    return typed && { ...typed, ...(isStatus(status) && { status }) }
  }

  async function send(): Promise<void> {
    const animal = readAnimal()
    const { store, signal } = session
    if (animal === undefined || store === undefined) return
    if (lastSent === undefined || !isSameAnimal(lastSent.animal, animal)) {
      lastSent = { animal, idempotencyKey: newIdempotencyKey() }
      advice = ''
    }
    // The user may reload the page before there is an answer.
    saveRequest(lastSent.idempotencyKey)
    fields.setSending(true)
    try {
      const added = await store.createAnimal(animal, { idempotencyKey: lastSent.idempotencyKey, signal })
      fields.setSending(false)
      forgetRequest()
      showAddedCount(addedCount + 1)
      if (find('#add-another', HTMLInputElement).checked) startNext()
      else {
        reset()
        // The user may have opened an animal meanwhile.
        if (state.form === 'add-animal') close()
      }
      onAdded(added)
    } catch (error) {
      fields.setSending(false)
      session.noteFailure(error)
      // The user has signed out meanwhile, and another one may come.
      if (lastSent === undefined) return
      // An attempt before this one may have been stored, too.
      if (mayBeStored(error) || advice !== '') advice = MAY_BE_ADDED
      else storedRequest.clear()
      if (!signal.aborted) problem.textContent = `${describeFailure(error)} ${advice}`.trim()
    }
  }

  form.addEventListener('input', () => {
    if (advice === '') return
    advice = CHANGED
    setText(problem, advice)
  })

  /** Category and status stay: the next animal often has the same ones. */
  function startNext(): void {
    name.value = ''
    fields.clearProblems()
    name.focus()
  }

  function saveRequest(idempotencyKey: string): void {
    const texts = { name: name.value, category: category.value, status: new FormData(form).get('status') }
    storedRequest.save(JSON.stringify({ ...texts, idempotencyKey }))
  }

  /** Fills the form with what was sent before a reload. */
  function restoreRequest(): void {
    const stored = storedRequest.load()
    if (stored === undefined) return
    const request: Record<string, unknown> = Object(JSON.parse(stored))
    name.value = String(request.name)
    category.value = String(request.category)
    for (const radio of form.querySelectorAll<HTMLInputElement>('[name=status]'))
      radio.checked = radio.value === request.status
    const animal = readAnimal()
    if (animal === undefined) return
    lastSent = { animal, idempotencyKey: String(request.idempotencyKey) }
    advice = MAY_BE_ADDED
  }

  function forgetRequest(): void {
    lastSent = undefined
    advice = ''
    storedRequest.clear()
  }

  function reset(): void {
    forgetRequest()
    form.reset()
    fields.clearProblems()
  }

  /** Users compare the count with their delivery. The notice names only the last animal. */
  function showAddedCount(count: number): void {
    addedCount = count
    find('#added-count', HTMLElement).textContent = count === 0 ? '' : `${formatNumber(count)} added`
  }

  /** Moves the focus back to where it was before the form was opened. */
  function close(): void {
    state.form = undefined
    render()
    if (opener instanceof HTMLElement) opener.focus({ preventScroll: true })
  }

  form.reset()
  fields.clearProblems()
  restoreRequest()

  return {
    get isSending() {
      return fields.isSending
    },
    open(): void {
      if (state.form !== 'add-animal') {
        opener = document.activeElement
        fields.clearProblems()
        problem.textContent = advice
        showAddedCount(0)
      }
      state.form = 'add-animal'
      render()
      name.focus()
    },
    close,
    reset,
  }
}
