// The buttons that copy a block of code, or the link to a heading.

import { copyText } from './clipboard.ts'
import { createElement } from './elements.ts'

/** How long a button says that it has copied. */
const COPIED_MS = 2_000

export function enableCopyButtons(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('.copy, .copy-link')) {
    const label = button.ariaLabel ?? ''
    let timer: ReturnType<typeof setTimeout> | undefined
    button.addEventListener('click', async () => {
      const isCopied = await copy(button)
      button.ariaLabel = isCopied ? 'Copied' : 'Selected: press Ctrl+C'
      button.dataset.copied = String(isCopied)
      clearTimeout(timer)
      timer = setTimeout(() => {
        button.ariaLabel = label
        delete button.dataset.copied
      }, COPIED_MS)
    })
  }
}

async function copy(button: HTMLButtonElement): Promise<boolean> {
  if (button.dataset.link !== undefined) return copyLink(new URL(button.dataset.link, location.href).href)
  const blocks = [...(button.parentElement?.querySelectorAll('pre') ?? [])]
  // Of the samples, only that of the selected language is visible.
  const visible = blocks.find(block => block.checkVisibility())
  return visible !== undefined && copyText(visible)
}

async function copyLink(url: string): Promise<boolean> {
  const source = createElement('span', { class: 'visually-hidden' }, url)
  document.body.append(source)
  const isCopied = await copyText(source)
  if (isCopied) source.remove()
  // It stays selected until the user has copied it.
  else document.addEventListener('copy', () => setTimeout(() => source.remove()), { once: true })
  return isCopied
}
