// The script of the API reference: connects the parts of the page, offers the key of the catalogue, copies code, and keeps
// the language of the samples.

import { connectTabs, deviceValue, loadKey } from './browser-storage.ts'
import { enableCopyButton } from './copy-button.ts'
import { find } from './elements.ts'
import { enableContents } from './reference-contents.ts'
import { enableForm } from './try-it.ts'

const LANGUAGE_BUTTONS = '.languages input'

const key = find('#api-key', HTMLInputElement)
const keyHint = find('#key-hint', HTMLElement)
const initialHint = keyHint.textContent
const language = deviceValue('animal-store-language')

for (const form of document.querySelectorAll<HTMLFormElement>('.operation form')) enableForm(form, key)
for (const button of document.querySelectorAll<HTMLButtonElement>('.copy'))
  enableCopyButton(button, () => textToCopy(button))
enableContents()

key.addEventListener('input', showKeyHint)
connectTabs({
  sharedKey: () => undefined,
  onKey: () => {},
  onSignOut: cleared => key.value === cleared && setKey(''),
})
setKey(loadKey() ?? '')

find('main', HTMLElement).addEventListener('change', ({ target }) => {
  if (!(target instanceof HTMLInputElement) || !target.matches(LANGUAGE_BUTTONS)) return
  language.save(target.value)
  selectLanguage(target.value)
})
selectLanguage(language.load())

function setKey(value: string): void {
  key.value = value
  showKeyHint()
}

function showKeyHint(): void {
  const isSessionKey = key.value !== '' && key.value === loadKey()
  keyHint.textContent = isSessionKey ? 'The key that you entered in the catalogue.' : initialHint
}

/** Selects the language in all operations. */
function selectLanguage(value: string | undefined): void {
  for (const button of document.querySelectorAll<HTMLInputElement>(LANGUAGE_BUTTONS))
    if (button.value === value) button.checked = true
}

/** The code beside the button. Of the samples, only that of the selected language is visible. */
function textToCopy({ parentElement }: HTMLButtonElement): string {
  const blocks = [...(parentElement?.querySelectorAll('pre') ?? [])]
  return blocks.find(block => block.checkVisibility())?.textContent ?? ''
}
