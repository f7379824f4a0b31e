// The bar above the table: gives the marked animals a status, or that of the row with the cursor, and says what became of it.

import type { Animal } from '../../../client/src/animal-store.ts'
import { STATUS_NAMES } from '../../animal.ts'
import { formatNumber } from '../../count.ts'
import { find } from './elements.ts'
import { shortenName } from './notice.ts'
import type { Session } from './session.ts'
import { cursorOf, type PageState } from './state.ts'
import type { StatusChanges } from './status-changes.ts'

interface MarksOptions {
  readonly state: PageState
  readonly session: Session
  readonly changes: StatusChanges
  readonly render: () => void
  /** A control of the bar that has the focus disappears. */
  readonly onFocusLost: () => void
}

export function createMarks({ state, session, changes, render, onFocusLost }: MarksOptions) {
  const bar = find('#marks', HTMLElement)
  const text = find('#marks p', HTMLElement)
  const buttons = find('#marks [role=group]', HTMLElement)
  const undoButton = find('#marks .undo', HTMLButtonElement)
  const retryButton = find('#marks .retry', HTMLButtonElement)
  const clearButton = find('#marks .clear', HTMLButtonElement)

  /** The marked animals, otherwise that with the cursor. */
  function targets(): readonly Animal[] {
    const { page, animal, marked, rowNotes } = state
    const animals = page?.animals.filter(({ id }) => rowNotes.get(id) !== 'removed') ?? []
    if (marked.size > 0) return animals.filter(({ id }) => marked.has(id))
    const found = animal ?? animals.find(({ id }) => id === cursorOf(state))
    return found === undefined ? [] : [found]
  }

  function clear(): void {
    state.marked.clear()
    state.isChoosing = false
    state.outcome = undefined
    render()
  }

  /** Takes the number of a status, from 0. */
  function choose(index: number): void {
    const status = STATUS_NAMES[index]
    const animals = targets()
    if (status === undefined) return
    clear()
    changes.set(animals, status)
  }

  for (const [index, button] of [...buttons.querySelectorAll('button')].entries())
    button.addEventListener('click', () => choose(index))
  undoButton.addEventListener('click', () => state.outcome?.undo?.())
  retryButton.addEventListener('click', () => state.outcome?.retry?.())
  clearButton.addEventListener('click', clear)

  return {
    render(): void {
      const { marked, isChoosing, outcome, waiting } = state
      const asks = isChoosing || marked.size > 0
      const isWaiting = !asks && waiting.size > 1
      const hadFocus = bar.contains(document.activeElement)
      bar.hidden = !asks && !isWaiting && outcome === undefined
      bar.classList.toggle('choosing', isChoosing)
      buttons.hidden = !asks
      undoButton.hidden = asks || isWaiting || outcome?.undo === undefined
      retryButton.hidden = asks || isWaiting || outcome?.retry === undefined
      clearButton.textContent = asks ? 'Clear' : 'Close'
      clearButton.hidden = isWaiting
      const [only] = targets()
      if (isWaiting) text.textContent = `${formatNumber(waiting.size)} to go …`
      else if (marked.size > 0) text.textContent = `${formatNumber(marked.size)} marked`
      else if (isChoosing) text.textContent = shortenName(only?.name ?? '')
      else text.textContent = outcome?.text ?? ''
      if (hadFocus && !(bar.contains(document.activeElement) && document.activeElement?.checkVisibility()))
        onFocusLost()
    },
    clear,
    toggle(id: bigint | undefined): void {
      if (id === undefined || session.isReadOnly || state.rowNotes.get(id) === 'removed') return
      const isListed = state.page?.animals.some(animal => animal.id === id)
      if (!state.marked.delete(id) && isListed) state.marked.add(id)
      state.outcome = undefined
      render()
    },
    /** The next key is the number of a status. */
    startChoosing(): void {
      if (session.isReadOnly || targets().length === 0) return
      state.isChoosing = true
      render()
    },
    choose(index: number): void {
      if (state.isChoosing) choose(index)
    },
  }
}
