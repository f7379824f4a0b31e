// Buttons that copy text.

import { createElement } from './elements.ts'

/** How long a button says that it has copied, unless it loses the focus before. */
const COPIED_MS = 2_000

/** `text` returns what the button copies. */
export function enableCopyButton(button: HTMLButtonElement, text: () => string): void {
  const { ariaLabel, title } = button
  let timer: ReturnType<typeof setTimeout> | undefined
  const reset = () => {
    delete button.dataset.state
    Object.assign(button, { ariaLabel, title })
  }
  button.addEventListener('click', async () => {
    await copy(text())
    button.dataset.state = 'copied'
    Object.assign(button, { ariaLabel: 'Copied', title: 'Copied' })
    clearTimeout(timer)
    timer = setTimeout(reset, COPIED_MS)
  })
  button.addEventListener('blur', reset)
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    // Browsers offer `navigator.clipboard` only in secure contexts. The older way works everywhere else.
    const source = createElement('span', { class: 'visually-hidden', 'aria-hidden': 'true' }, text)
    document.body.append(source)
    getSelection()?.selectAllChildren(source)
    document.execCommand('copy')
    source.remove()
  }
}
