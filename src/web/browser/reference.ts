// The script of the API reference: connects the parts of the page, copies code, and keeps the language of the samples.

import { createApiKeyField } from './api-key-field.ts'
import { deviceValue } from './browser-storage.ts'
import { enableCopyButton } from './copy-button.ts'
import { find } from './elements.ts'
import { enableContents } from './reference-contents.ts'
import { enableForm } from './try-it.ts'

const LANGUAGE_BUTTONS = '.languages input'

const key = createApiKeyField()
const language = deviceValue('animal-store-language')

for (const form of document.querySelectorAll<HTMLFormElement>('.operation form')) enableForm(form, key)
for (const button of document.querySelectorAll<HTMLButtonElement>('.copy'))
  enableCopyButton(button, () => textToCopy(button))
enableContents()

find('main', HTMLElement).addEventListener('change', ({ target }) => {
  if (!(target instanceof HTMLInputElement) || !target.matches(LANGUAGE_BUTTONS)) return
  language.save(target.value)
  selectLanguage(target.value)
})
selectLanguage(language.load())

/** Selects the language in all samples. */
function selectLanguage(value: string | undefined): void {
  for (const button of document.querySelectorAll<HTMLInputElement>(LANGUAGE_BUTTONS))
    if (button.value === value) button.checked = true
}

/** The code beside the button. Of the samples, only that of the selected language is visible. */
function textToCopy({ parentElement }: HTMLButtonElement): string {
  const blocks = [...(parentElement?.querySelectorAll('pre') ?? [])]
  return blocks.find(block => block.checkVisibility())?.textContent ?? ''
}
