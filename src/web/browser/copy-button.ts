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
    const isCopied = await copy(text())
    button.dataset.state = isCopied ? 'copied' : 'failed'
    button.ariaLabel = isCopied ? 'Copied' : 'Press Ctrl+C to copy'
    button.title = button.ariaLabel
    clearTimeout(timer)
    timer = setTimeout(reset, COPIED_MS)
  })
  button.addEventListener('blur', reset)
}

/** Returns false if the browser allows no copying. */
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
    // Otherwise the text stays selected until the user has copied it.
    if (isCopied) source.remove()
    else document.addEventListener('copy', () => setTimeout(() => source.remove()), { once: true })
    return isCopied
  }
}
