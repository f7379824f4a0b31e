// The bar above the table: gives the marked animals a status, or that of the row with the cursor, and says what became of it.

import { STATUS_NAMES, statusNameOf } from '../../animal.ts'
import { formatNumber } from '../../number-format.ts'
import { find } from './elements.ts'
import { shortenName } from './notice.ts'
import type { Session } from './session.ts'
import { cursorOf, type PageState } from './state.ts'
import { BUSY, type StatusChanges, type Target } from './status-changes.ts'

interface MarksOptions {
  readonly state: PageState
  readonly session: Session
  readonly changes: StatusChanges
  readonly render: () => void
  readonly announce: (text: string) => void
}

export function createMarks({ state, session, changes, render, announce }: MarksOptions) {
  const bar = find('#marks', HTMLElement)
  const text = find('#marks p', HTMLElement)
  const buttons = find('#marks [role=group]', HTMLElement)
  const undoButton = find('#marks .undo', HTMLButtonElement)
  const retryButton = find('#marks .retry', HTMLButtonElement)
  const clearButton = find('#marks .clear', HTMLButtonElement)

  /** Those that are still there, with the status that each had when it was marked, or when the user pressed `s`. */
  function targets(): readonly Target[] {
    const { page, animal: shown, marked, choosing, rowNotes } = state
    return [...(choosing ?? marked)].flatMap(([id, from]) => {
      const animal = [...(page?.animals ?? []), shown].find(known => known?.id === id)
      return animal === undefined || rowNotes.get(id) === 'removed' ? [] : { animal, from }
    })
  }

  function clear(): void {
    state.marked.clear()
    state.choosing = undefined
    state.outcome = undefined
    render()
  }

  /** Takes the number of a status, from 0. Animals with a change in flight keep their marks. */
  function choose(index: number): void {
    const status = STATUS_NAMES[index]
    const all = targets()
    if (status === undefined) return
    for (const { animal } of all) if (!state.waiting.has(animal.id)) state.marked.delete(animal.id)
    state.choosing = undefined
    state.outcome = undefined
    changes.set(all, status)
    render()
  }

  for (const [index, button] of [...buttons.querySelectorAll('button')].entries())
    button.addEventListener('click', () => choose(index))
  undoButton.addEventListener('click', () => state.outcome?.undo?.())
  retryButton.addEventListener('click', () => state.outcome?.retry?.())
  clearButton.addEventListener('click', clear)

  return {
    render(): void {
      const { marked, choosing, outcome, waiting, location } = state
      const asks = choosing !== undefined || marked.size > 0
      const isWaiting =
        !asks &&
        (waiting.size > 1 || (waiting.size === 1 && state.isSlow && !waiting.has(location.animal ?? 0n)))
      bar.hidden = !asks && !isWaiting && outcome === undefined
      bar.classList.toggle('asks', asks)
      bar.classList.toggle('choosing', choosing !== undefined)
      buttons.hidden = !asks
      undoButton.hidden = asks || isWaiting || !outcome?.undo || outcome.written.size === 0
      retryButton.hidden = asks || isWaiting || outcome?.retry === undefined
      clearButton.textContent = asks ? 'Clear' : 'Close'
      clearButton.hidden = isWaiting
      const [only] = targets()
      if (isWaiting && state.isSlow && waiting.size === 1) text.textContent = BUSY
      else if (isWaiting) text.textContent = `${formatNumber(waiting.size)} to go …`
      else if (marked.size > 0)
        text.textContent = [`${formatNumber(marked.size)} marked`, outcome?.text].filter(Boolean).join('. ')
      else if (choosing !== undefined) text.textContent = shortenName(only?.animal.name ?? '')
      else text.textContent = outcome?.text ?? ''
    },
    clear,
    toggle(id: bigint | undefined): void {
      const animal = state.page?.animals.find(listed => listed.id === id)
      if (animal === undefined || session.isReadOnly || state.rowNotes.get(animal.id) === 'removed') return
      if (!state.marked.delete(animal.id)) state.marked.set(animal.id, statusNameOf(animal))
      state.choosing = undefined
      state.outcome = undefined
      render()
      announce(`${formatNumber(state.marked.size)} marked`)
    },
    /** The next key is the number of a status. */
    startChoosing(): void {
      const { page, animal, marked, rowNotes } = state
      const found = animal ?? page?.animals.find(({ id }) => id === cursorOf(state))
      const isThere = found !== undefined && rowNotes.get(found.id) !== 'removed'
      if (session.isReadOnly || (marked.size === 0 && !isThere)) return
      state.choosing = marked.size > 0 || !isThere ? marked : new Map([[found.id, statusNameOf(found)]])
      render()
      const choices = STATUS_NAMES.map(
        (status, index) => `${index + 1} for ${status === 'none' ? 'no status' : status}`,
      )
      announce(`${text.textContent}. Press ${choices.join(', ')}`)
    },
    stopChoosing(): void {
      if (state.choosing === undefined) return
      state.choosing = undefined
      render()
    },
    choose(index: number): void {
      if (state.choosing !== undefined) choose(index)
    },
  }
}
