// The animal in the panel, which the URL names: whole, with its link, id and JSON to copy, and with what can be done with it.

import { type Animal, AnimalStoreError, newIdempotencyKey } from '../../../client/src/animal-store.ts'
import { isSameAnimal, STATUS_NAMES, statusNameOf } from '../../animal.ts'
import type { AnimalTable } from './animal-table.ts'
import { enableCopyButton } from './copy-button.ts'
import { createElement, createStatusBadge, find, isFocusLost } from './elements.ts'
import { describeWriteFailure } from './failures.ts'
import { pageFrom, parseListLocation, toCategoryUrl, toUrl } from './location.ts'
import type { Navigation } from './navigation.ts'
import { type Notice, shortenName } from './notice.ts'
import { contentOf, type Panel } from './panel.ts'
import type { Session } from './session.ts'
import {
  applyAnimal,
  applyRemoval,
  type ChangeResult,
  cursorOf,
  findNext,
  type PageState,
  type Question,
} from './state.ts'
import { BUSY, type StatusChanges, WRITE_RETRIES } from './status-changes.ts'
import { describeStatusChange } from './status-words.ts'

interface DetailsOptions {
  readonly state: PageState
  readonly table: AnimalTable
  readonly panel: Panel
  readonly navigation: Navigation
  readonly session: Session
  readonly notice: Notice
  readonly changes: StatusChanges
  readonly render: () => void
  readonly announce: (text: string) => void
  /** Shows what became of a removal that the user has left. */
  readonly report: (id: bigint, text: string) => void
  /** The counts may have changed. */
  readonly onChanged: () => void
}

export function createDetails(options: DetailsOptions) {
  const { state, table, panel, navigation, session, notice, changes, render, announce, report, onChanged } =
    options
  const name = find('#details-name', HTMLElement)
  const json = find('#details-json', HTMLElement)
  const copyLink = find('#copy-link', HTMLButtonElement)
  const missingTitle = find('#missing-title', HTMLElement)
  const statusButtons = document.querySelectorAll<HTMLButtonElement>('#status button[data-status]')
  const undoButton = find('#undo', HTMLButtonElement)
  const retryButton = find('#retry', HTMLButtonElement)
  const removeButton = find('#remove', HTMLButtonElement)
  const confirmButton = find('#confirm-removal', HTMLButtonElement)
  const keepButton = find('#keep', HTMLButtonElement)
  let rendered: Animal | undefined

  enableCopyButton(copyLink, () => {
    const id = state.animal?.id ?? 0n
    return new URL(toUrl(pageFrom(id, 'newest', parseListLocation(''))), document.baseURI).href
  })
  enableCopyButton(find('#copy-id', HTMLButtonElement), () => String(state.animal?.id))
  enableCopyButton(find('#copy-json', HTMLButtonElement), () => json.textContent)
  find('#not-listed button', HTMLButtonElement).addEventListener('click', () => {
    const { animal, location } = state
    if (animal === undefined) return
    // The button disappears, so the row gets the focus.
    state.animal = undefined
    navigation.goTo(pageFrom(animal.id, location.order, location))
  })
  for (const button of statusButtons)
    button.addEventListener('click', () => {
      const status = STATUS_NAMES.find(name => name === button.dataset.status)
      if (state.animal !== undefined && status !== undefined)
        changes.set([{ animal: state.animal, from: statusNameOf(state.animal) }], status)
    })
  undoButton.addEventListener('click', () => state.note?.undo?.())
  retryButton.addEventListener('click', () => state.note?.retry?.())
  removeButton.addEventListener('click', () => {
    const { animal } = state
    if (animal === undefined) return
    const text = `Remove ${shortenName(animal.name)} for good?`
    state.question = { animal, text, idempotencyKey: newIdempotencyKey() }
    render()
    keepButton.focus()
  })
  keepButton.addEventListener('click', keep)
  confirmButton.addEventListener('click', ({ detail }) => {
    // A double click on the button that asks must not be the answer, too.
    if (detail <= 1) remove()
  })
  // The keyboard must reach a name that has to be scrolled.
  new ResizeObserver(() => {
    name.tabIndex = name.scrollHeight > name.clientHeight ? 0 : -1
  }).observe(name)

  /** Shows the animal that the URL names, in the list and in the panel. Asks the server if the list does not have it. */
  async function follow(): Promise<void> {
    const { location, page } = state
    const id = location.animal
    if (id === (state.animal ?? state.missing)?.id) return render()
    const wasOpen = ['details', 'missing', 'edit-animal'].includes(contentOf(state) ?? '')
    state.animal = undefined
    state.missing = undefined
    state.note = undefined
    state.question = undefined
    state.choosing = undefined
    if (wasOpen || id !== undefined) state.form = undefined
    const listed = page?.animals.find(animal => animal.id === id)
    const isKnown = listed !== undefined && state.rowNotes.get(listed.id) === undefined
    if (isKnown) state.animal = listed
    render()
    if (id === undefined) return
    if (!isKnown) await lookUp(id, listed)
    if (state.location.animal !== id || state.form !== undefined) return
    // A sheet covers the list, which cannot have the focus then.
    if (!panel.isBesideList) (state.animal ? name : missingTitle).focus()
    else if (listed !== undefined) table.focusRow(id)
  }

  /** The link stays if there is no such animal: it may be shared again, or be corrected. */
  async function lookUp(id: bigint, listed: Animal | undefined): Promise<void> {
    try {
      const animal = await session.store?.findAnimal(id, { signal: session.signal })
      if (state.location.animal !== id) return
      if (animal !== undefined) {
        state.animal = animal
        applyAnimal(state, animal)
      } else {
        if (listed !== undefined) applyRemoval(state, listed)
        else
          state.missing = {
            id,
            title: `No animal has id ${id}`,
            hint: 'It was removed for good, or the number in this link is wrong.',
          }
      }
      render()
    } catch (error) {
      const action = { label: 'Try again', run: follow }
      session.noteFailure(error)
      if (state.location.animal === id && !session.signal.aborted)
        notice.show(`The animal with the id ${id} cannot be loaded right now.`, { action })
    }
  }

  function renderDetails(): void {
    const { animal, waiting, missing, page } = state
    if (missing !== undefined) {
      missingTitle.textContent = missing.title
      find('#missing-hint', HTMLElement).textContent = missing.hint
    }
    if (animal === undefined) return
    const status = statusNameOf(animal)
    const isWaiting = waiting.has(animal.id)
    // The question was about the animal as it was then.
    if (state.question !== undefined && !isWaiting && !isSameAnimal(state.question.animal, animal))
      withdrawQuestion(state.question.animal, animal)
    const { note, question } = state
    // What has not changed stays as it is, for the text that the user has selected in it.
    if (animal !== rendered) {
      rendered = animal
      name.textContent = animal.name
      find('#details-id', HTMLElement).textContent = String(animal.id)
      find('#details-status', HTMLElement).replaceChildren(createStatusBadge(animal.status))
      json.replaceChildren(...renderIndented(animal))
    }
    find('#not-listed', HTMLElement).hidden = page?.animals.some(({ id }) => id === animal.id) === true
    showCategoryLink(animal)
    for (const button of statusButtons) {
      button.ariaPressed = String(button.dataset.status === status)
      button.ariaDisabled = isWaiting ? 'true' : null
      button.classList.toggle('waiting', isWaiting && button.dataset.status === waiting.get(animal.id))
    }
    find('#status', HTMLElement).ariaBusy = String(isWaiting)
    if (isWaiting && state.isSlow) find('#status-note span', HTMLElement).textContent = BUSY
    else showNote(note)
    removeButton.hidden = question !== undefined
    const hadFocus = confirmButton.matches(':focus') || keepButton.matches(':focus')
    find('#question', HTMLElement).hidden = question === undefined
    find('#question p', HTMLElement).textContent = question?.text ?? ''
    if (hadFocus && question === undefined) removeButton.focus()
    confirmButton.textContent = isWaiting ? 'Removing …' : 'Remove'
    confirmButton.ariaDisabled = keepButton.ariaDisabled = isWaiting ? 'true' : null
  }

  function showNote(note: ChangeResult | undefined): void {
    const hadFocus = undoButton.matches(':focus') || retryButton.matches(':focus')
    find('#status-note span', HTMLElement).textContent = note?.note ?? ''
    undoButton.hidden = note?.undo === undefined
    retryButton.hidden = note?.retry === undefined
    const isGone = !undoButton.matches(':focus') && !retryButton.matches(':focus')
    if (hadFocus && isGone) find('#status [aria-pressed=true]', HTMLElement).focus()
  }

  function keep(): void {
    if (state.animal === undefined || state.waiting.has(state.animal.id)) return
    state.question = undefined
    render()
    removeButton.focus()
  }

  function withdrawQuestion(asked: Animal, now: Animal): void {
    const text = describeMeanwhile(asked, now)
    state.question = undefined
    state.note = { text, note: text, written: new Map(), undo: undefined, retry: undefined }
    announce(text)
  }

  /** On the condition of the status that the animal had when the page asked. */
  async function remove(): Promise<void> {
    const { question, waiting } = state
    if (question === undefined || waiting.has(question.animal.id)) return
    const { animal } = question
    waiting.set(animal.id, undefined)
    render()
    let now: Animal | undefined
    let failure: unknown
    try {
      now = await sendRemoval(question)
    } catch (error) {
      failure = error
    }
    // The user has signed out meanwhile.
    if (state.waiting !== waiting) return
    waiting.delete(animal.id)
    if (failure !== undefined) {
      const text = describeWriteFailure(failure, 'removed')
      if (state.question === question) state.question = { ...question, text }
      else report(animal.id, `${shortenName(animal.name)}: ${text}`)
      announce(text)
      session.noteFailure(failure)
    } else if (now === undefined) {
      applyRemoval(state, animal)
      announce(`${shortenName(animal.name)} was removed`)
    } else {
      applyAnimal(state, now)
      if (state.question === question) withdrawQuestion(animal, now)
      else report(animal.id, `${describeMeanwhile(animal, now)} and was not removed.`)
    }
    render()
    if (state.missing?.id === animal.id) missingTitle.focus()
    onChanged()
  }

  /** An animal that is removed already is a success. Returns the animal as it is now if somebody has changed it. */
  async function sendRemoval({ animal, text, idempotencyKey }: Question): Promise<Animal | undefined> {
    const { store, signal } = session
    const ifStatus = statusNameOf(animal)
    try {
      await store?.deleteAnimal(animal.id, { ifStatus, idempotencyKey, retries: WRITE_RETRIES, signal })
      return undefined
    } catch (error) {
      const code = error instanceof AnimalStoreError ? error.code : undefined
      if (code === 'not_found') return undefined
      if (code !== 'conflict') throw error
    }
    const now = await store?.findAnimal(animal.id, { signal })
    if (now === undefined || !(await changes.isOwn(now))) return now
    return sendRemoval({ animal: now, text, idempotencyKey: newIdempotencyKey() })
  }

  /** The link keeps the filter, which may change while the animal is shown. */
  function showCategoryLink({ categoryId }: Animal): void {
    const link = find('#details-category', HTMLAnchorElement)
    link.textContent = String(categoryId)
    link.href = toCategoryUrl(categoryId, state.location)
  }

  /** Moves the focus to the row with the cursor, or to the first one. */
  function focusRow(): void {
    const ids = state.page?.animals.map(({ id }) => id) ?? []
    const id = ids.find(listed => listed === cursorOf(state)) ?? ids[0]
    if (id !== undefined) table.focusRow(id)
  }

  /** What had the focus is gone: the keyboard goes on in the panel, otherwise from the row with the cursor. */
  function restoreFocus(): void {
    const { cursor } = state
    if (contentOf(state) === 'missing') missingTitle.focus()
    else if (contentOf(state) === 'details' && !panel.isBesideList) name.focus()
    else focusRow()
    if (isFocusLost()) find('#title', HTMLElement).focus({ preventScroll: true })
    // The user has not moved.
    state.cursor = cursor
  }

  function select(id: bigint, replaces = false): void {
    navigation.goTo({ ...state.location, animal: id }, { replaces })
  }

  return {
    follow,
    focusRow,
    restoreFocus,
    select,
    keep,
    render: renderDetails,
    /** Selects the next animal or the previous one, on the next or previous page if necessary. */
    move(direction: 1 | -1): void {
      const animals = state.page?.animals ?? []
      const isListed = animals.some(({ id }) => id === cursorOf(state))
      const next = findNext(state, animals, direction) ?? (isListed ? undefined : animals[0])
      if (next !== undefined) select(next.id, state.location.animal !== undefined)
      else if (isListed && navigation.turnPage(direction)) state.selectNext = direction
    },
    copyLink(): void {
      if (contentOf(state) === 'details') copyLink.click()
    },
  }
}

function describeMeanwhile(before: Animal, now: Animal): string {
  const status = statusNameOf(now)
  const change = status === statusNameOf(before) ? 'was changed' : describeStatusChange(status)
  return `${shortenName(now.name)} ${change} meanwhile`
}

/** Written by hand, because `JSON.stringify` cannot render exact integers in every browser. */
function renderIndented({ id, name, categoryId, status }: Animal): (HTMLElement | string)[] {
  // A name in a right-to-left script must not change the order of what follows.
  const isolatedName = createElement('bdi', {}, JSON.stringify(name).slice(1, -1))
  const ending = status === undefined ? '' : `,\n  "status": ${JSON.stringify(status)}`
  return [`{\n  "id": ${id},\n  "name": "`, isolatedName, `",\n  "categoryId": ${categoryId}${ending}\n}`]
}
