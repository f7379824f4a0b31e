// The details of one animal in the panel: its whole name, and its id and JSON to copy.

import type { Animal } from '../../../client/src/animal-store.ts'
import { copyText } from './clipboard.ts'
import { find } from './elements.ts'
import { createStatusBadge } from './status-badge.ts'

export interface Details {
  show(animal: Animal): void
  /** Says so if the animal is not on the page of the list that is shown, and offers to show it there. */
  setListed(isListed: boolean): void
  /** Moves the focus to the name, so that keyboard and screen reader leave a list that the panel covers. */
  focus(): void
}

export function createDetails(onShowInList: (id: bigint) => void): Details {
  const notListed = find('#not-listed', HTMLElement)
  const name = find('#details-name', HTMLElement)
  const id = find('#details-id', HTMLElement)
  const json = find('#details-json', HTMLElement)
  const copyButtons = [enableCopying('#copy-id', id), enableCopying('#copy-json', json)]
  let shownId: bigint | undefined
  find('#not-listed button', HTMLButtonElement).addEventListener('click', () => {
    if (shownId !== undefined) onShowInList(shownId)
  })
  // The keyboard must reach a name that has to be scrolled.
  new ResizeObserver(() => {
    name.tabIndex = name.scrollHeight > name.clientHeight ? 0 : -1
  }).observe(name)

  return {
    show(animal) {
      for (const { reset } of copyButtons) reset()
      shownId = animal.id
      name.textContent = animal.name
      id.textContent = String(animal.id)
      find('#details-category', HTMLElement).textContent = String(animal.categoryId)
      find('#details-status', HTMLElement).replaceChildren(createStatusBadge(animal.status))
      json.textContent = renderIndented(animal)
    },
    setListed(isListed) {
      notListed.hidden = isListed
    },
    focus: () => name.focus(),
  }
}

/**
 * The button says "Copied" until it loses the focus or is reset. It needs both, because in some browsers a click does
 * not focus a button.
 */
function enableCopying(selector: string, source: HTMLElement): { readonly reset: () => void } {
  const button = find(selector, HTMLButtonElement)
  const { ariaLabel: label } = button
  const showLabel = (text: string | null) => {
    button.ariaLabel = text
    button.title = text ?? ''
  }
  button.addEventListener('click', async () => {
    const isCopied = await copyText(source)
    button.dataset.state = isCopied ? 'copied' : 'failed'
    showLabel(isCopied ? 'Copied' : 'Press Ctrl+C to copy')
  })
  const reset = () => {
    delete button.dataset.state
    showLabel(label)
  }
  button.addEventListener('blur', reset)
  return { reset }
}

/** Written by hand, because `JSON.stringify` cannot render exact integers in every browser. */
function renderIndented({ id, name, categoryId, status }: Animal): string {
  const members = [`"id": ${id}`, `"name": ${JSON.stringify(name)}`, `"categoryId": ${categoryId}`]
  if (status !== undefined) members.push(`"status": ${JSON.stringify(status)}`)
  return `{\n  ${members.join(',\n  ')}\n}`
}
