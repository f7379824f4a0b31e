// The animal in the panel, which the URL names: whole, with its link, id and JSON to copy, and with what can be done with it.

import { type Animal, AnimalStoreError, newIdempotencyKey } from '../../../client/src/animal-store.ts'
import { STATUS_NAMES, statusNameOf } from '../../animal.ts'
import type { AnimalTable } from './animal-table.ts'
import { enableCopyButton } from './copy-button.ts'
import { createElement, createStatusBadge, find } from './elements.ts'
import { describeFailure } from './failures.ts'
import { pageFrom, parseListLocation, toCategoryUrl, toUrl } from './location.ts'
import type { Navigation } from './navigation.ts'
import { type Notice, shortenName } from './notice.ts'
import { contentOf, type Panel } from './panel.ts'
import type { Session } from './session.ts'
import { applyAnimal, applyRemoval, type ChangeResult, cursorOf, findNext, type PageState } from './state.ts'
import { describeStatusChange, type StatusChanges, WRITE_RETRIES } from './status-changes.ts'

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
  /** The counts may have changed. */
  readonly onChanged: () => void
}

export function createDetails(options: DetailsOptions) {
  const { state, table, panel, navigation, session, notice, changes, render, announce, onChanged } = options
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
  /** The removal is sent again with the same key while its answer is lost. */
  let removal: { readonly animal: Animal; readonly idempotencyKey: string } | undefined
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
      if (state.animal !== undefined && status !== undefined) changes.set([state.animal], status)
    })
  undoButton.addEventListener('click', () => state.note?.undo?.())
  retryButton.addEventListener('click', () => state.note?.retry?.())
  removeButton.addEventListener('click', () => {
    if (state.animal === undefined) return
    state.question = `Remove ${shortenName(state.animal.name)} for good?`
    render()
    keepButton.focus()
  })
  keepButton.addEventListener('click', keep)
  confirmButton.addEventListener('click', remove)
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
    if (wasOpen || id !== undefined) state.form = undefined
    const listed = page?.animals.find(animal => animal.id === id)
    const isKnown = listed !== undefined && state.rowNotes.get(listed.id) === undefined
    if (isKnown) state.animal = listed
    render()
    // The browser's Back button closes the panel and leaves the focus nowhere.
    if (wasOpen && document.activeElement === document.body) focusRow()
    if (id === undefined) return
    if (!isKnown) await lookUp(id, listed)
    if (state.location.animal !== id || state.form !== undefined) return
    // A sheet covers the list, which cannot have the focus then.
    if (!panel.isBesideList) (state.animal ? name : missingTitle).focus()
    else if (state.animal !== undefined && listed !== undefined) table.focusRow(id)
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
        const title =
          listed === undefined ? `No animal has id ${id}` : `${shortenName(listed.name)} was removed`
        state.missing = { id, title }
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
    const { animal, note, waiting, question, missing, page } = state
    if (missing !== undefined) missingTitle.textContent = missing.title
    if (animal === undefined) return
    const status = statusNameOf(animal)
    const isWaiting = waiting.has(animal.id)
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
    showNote(note?.written === undefined || note.written === status ? note : undefined)
    removeButton.hidden = question !== undefined
    find('#question', HTMLElement).hidden = question === undefined
    find('#question p', HTMLElement).textContent = question ?? ''
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

  /** On the condition of the status that the user sees. An animal that is removed already is a success. */
  async function remove(): Promise<void> {
    const { animal, waiting } = state
    const { store, signal } = session
    if (animal === undefined || store === undefined || waiting.has(animal.id)) return
    const isRetry = removal?.animal.id === animal.id && removal.animal.status === animal.status
    if (removal === undefined || !isRetry) removal = { animal, idempotencyKey: newIdempotencyKey() }
    const { idempotencyKey } = removal
    const shownName = shortenName(animal.name)
    waiting.set(animal.id, undefined)
    render()
    let failure: unknown
    try {
      const ifStatus = statusNameOf(animal)
      await store.deleteAnimal(animal.id, { ifStatus, idempotencyKey, retries: WRITE_RETRIES, signal })
    } catch (error) {
      failure = error
    }
    // The user has signed out meanwhile.
    if (state.waiting !== waiting) return
    waiting.delete(animal.id)
    const code = failure instanceof AnimalStoreError ? failure.code : undefined
    if (failure === undefined || code === 'not_found') {
      applyRemoval(state, animal)
      announce(`${shownName} was removed`)
    } else if (code === 'conflict') {
      state.question = undefined
      await lookUp(animal.id, animal)
      if (state.animal?.id === animal.id) {
        const text = `${shownName} ${describeStatusChange(statusNameOf(state.animal))} meanwhile`
        state.note = { text, note: text, written: undefined, undo: undefined, retry: undefined }
        announce(text)
      }
    } else {
      if (state.animal?.id === animal.id) state.question = `Not removed. ${describeFailure(failure)}`
      session.noteFailure(failure)
    }
    render()
    if (state.missing?.id === animal.id) missingTitle.focus()
    else if (document.activeElement === document.body) removeButton.focus()
    onChanged()
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

  function select(id: bigint, replaces = false): void {
    navigation.goTo({ ...state.location, animal: id }, { replaces })
  }

  return {
    follow,
    focusRow,
    select,
    keep,
    render: renderDetails,
    /** Selects the next animal or the previous one, on the next or previous page if necessary. */
    move(direction: 1 | -1): void {
      const animals = state.page?.animals ?? []
      const isListed = animals.some(({ id }) => id === cursorOf(state))
      const next = findNext(state, animals, direction) ?? (isListed ? undefined : animals[0])
      state.isChoosing = false
      if (next !== undefined) select(next.id, state.location.animal !== undefined)
      else if (isListed && navigation.turnPage(direction)) state.selectNext = direction
    },
    copyLink(): void {
      if (contentOf(state) === 'details') copyLink.click()
    },
  }
}

/** Written by hand, because `JSON.stringify` cannot render exact integers in every browser. */
function renderIndented({ id, name, categoryId, status }: Animal): (HTMLElement | string)[] {
  // A name in a right-to-left script must not change the order of what follows.
  const isolatedName = createElement('bdi', {}, JSON.stringify(name).slice(1, -1))
  const ending = status === undefined ? '' : `,\n  "status": ${JSON.stringify(status)}`
  return [`{\n  "id": ${id},\n  "name": "`, isolatedName, `",\n  "categoryId": ${categoryId}${ending}\n}`]
}
