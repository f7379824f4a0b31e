// The script of the API reference: connects the parts of the page, copies code and links, and keeps the language of the
// samples.

import { deviceValue } from './browser-storage.ts'
import { enableCopyButton } from './copy-button.ts'
import { find } from './elements.ts'
import { enableContents } from './reference-contents.ts'
import { createKeyField } from './reference-key.ts'
import { enableForm } from './try-it.ts'

const LANGUAGE_BUTTONS = '.languages input'

const key = createKeyField()
const language = deviceValue('animal-store-language')

for (const form of document.querySelectorAll<HTMLFormElement>('.operation form')) enableForm(form, key)
for (const button of document.querySelectorAll<HTMLButtonElement>('.copy, .copy-link'))
  enableCopyButton(button, () => textToCopy(button))
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

/** A link, or the code beside the button. Of the samples, only that of the selected language is visible. */
function textToCopy({ dataset, parentElement }: HTMLButtonElement): string {
  if (dataset.link !== undefined) return new URL(dataset.link, location.href).href
  const blocks = [...(parentElement?.querySelectorAll('pre') ?? [])]
  return blocks.find(block => block.checkVisibility())?.textContent ?? ''
}
