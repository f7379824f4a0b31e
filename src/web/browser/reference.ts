// The script of the API reference: connects the parts of the page.

import { deviceValue } from './browser-storage.ts'
import { find } from './elements.ts'
import { enableContents } from './reference-contents.ts'
import { enableCopyButtons } from './reference-copy.ts'
import { createKeyField } from './reference-key.ts'
import { enableForm } from './try-it.ts'

const LANGUAGE_BUTTONS = '.languages input'

const key = createKeyField()
const language = deviceValue('animal-store-language')

for (const form of document.querySelectorAll<HTMLFormElement>('.operation form')) enableForm(form, key)
enableCopyButtons()
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
