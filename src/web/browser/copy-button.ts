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
    if (!(await copy(text()))) return
    button.dataset.state = 'copied'
    Object.assign(button, { ariaLabel: 'Copied', title: 'Copied' })
    clearTimeout(timer)
    timer = setTimeout(reset, COPIED_MS)
  })
  button.addEventListener('blur', reset)
}

/** Resolves with false if the browser does not allow it. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Browsers offer `navigator.clipboard` only in secure contexts. The older way works everywhere else.
    const source = createElement('span', { class: 'visually-hidden', 'aria-hidden': 'true' }, text)
    document.body.append(source)
    getSelection()?.selectAllChildren(source)
    const isCopied = document.execCommand('copy')
    source.remove()
    return isCopied
  }
}
