// The form that adds an animal. It adds one animal even if it is sent twice.

import { type Animal, newIdempotencyKey } from '../../../client/src/animal-store.ts'
import { isSameAnimal, isStatus, type NewAnimal } from '../../animal.ts'
import { formatNumber } from '../../number-format.ts'
import { createAnimalFields } from './animal-fields.ts'
import { find, setText } from './elements.ts'
import { describeFailure, mayBeStored } from './failures.ts'
import type { Session } from './session.ts'
import type { PageState } from './state.ts'

interface AddAnimalFormOptions {
  readonly state: PageState
  readonly session: Session
  readonly render: () => void
  readonly onAdded: (animal: Animal) => void
}

export function createAddAnimalForm({ state, session, render, onAdded }: AddAnimalFormOptions) {
  const fields = createAnimalFields('#add-animal', { busyLabel: 'Adding …', onSubmit: send })
  const { form, name, problem } = fields
  /** The same animal is sent again with the same key, so that the server adds it once. */
  let lastSent: { readonly animal: NewAnimal; readonly idempotencyKey: string } | undefined
  /** The animal that was sent last may have been added. */
  let isUnanswered = false
  let opener: Element | null = null
  /** How many animals were added since the form was opened. */
  let addedCount = 0

  async function send(): Promise<void> {
    const typed = fields.read()
    const { store, signal } = session
    if (typed === undefined || store === undefined) return
    const status = new FormData(form).get('status')
    const animal: NewAnimal = { ...typed, ...(isStatus(status) && { status }) }
    if (lastSent === undefined || !isSameAnimal(lastSent.animal, animal)) {
      lastSent = { animal, idempotencyKey: newIdempotencyKey() }
    }
    fields.setSending(true)
    try {
      const added = await store.createAnimal(animal, { idempotencyKey: lastSent.idempotencyKey, signal })
      fields.setSending(false)
      lastSent = undefined
      isUnanswered = false
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
      isUnanswered = mayBeStored(error)
      const advice = isUnanswered
        ? ' The animal may have been added. Press Add again: unchanged, it is added only once.'
        : ''
      if (!signal.aborted) problem.textContent = describeFailure(error) + advice
    }
  }

  form.addEventListener('input', () => {
    if (isUnanswered)
      setText(problem, 'The animal before this change may be in the list already. Look there first.')
  })

  /** Category and status stay: the next animal often has the same ones. */
  function startNext(): void {
    name.value = ''
    fields.clearProblems()
    name.focus()
  }

  function reset(): void {
    lastSent = undefined
    isUnanswered = false
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

  reset()

  return {
    get isSending() {
      return fields.isSending
    },
    open(): void {
      if (state.form !== 'add-animal') {
        opener = document.activeElement
        fields.clearProblems()
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
