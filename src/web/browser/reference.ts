// The script of the API reference: connects the parts of the page, copies code and links, and keeps the language of the
// samples.

import { deviceValue } from './browser-storage.ts'
import { copyText } from './clipboard.ts'
import { createElement, find } from './elements.ts'
import { enableContents } from './reference-contents.ts'
import { createKeyField } from './reference-key.ts'
import { enableForm } from './try-it.ts'

const LANGUAGE_BUTTONS = '.languages input'

/** How long a button says that it has copied. */
const COPIED_MS = 2_000

const key = createKeyField()
const language = deviceValue('animal-store-language')

for (const form of document.querySelectorAll<HTMLFormElement>('.operation form')) enableForm(form, key)
for (const button of document.querySelectorAll<HTMLButtonElement>('.copy, .copy-link'))
  enableCopyButton(button)
enableContents()

find('main', HTMLElement).addEventListener('change', ({ target }) => {
  if (!(target instanceof HTMLInputElement) || !target.matches(LANGUAGE_BUTTONS)) return
  language.save(target.value)
  selectLanguage(target.value)
})
selectLanguage(language.load())

/** Selects the language in all operations. */
function selectLanguage(value: string | undefined): void {
  for (const button of document.querySelectorAll<HTMLInputElement>(LANGUAGE_BUTTONS))
    if (button.value === value) button.checked = true
}

function enableCopyButton(button: HTMLButtonElement): void {
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
