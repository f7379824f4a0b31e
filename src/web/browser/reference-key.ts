// The one field for the API key. It offers the key of the catalogue page if that is stored for this tab or this device.

import { find } from './elements.ts'
import { loadKey, onKeyChange } from './session-key.ts'

export type KeyField = ReturnType<typeof createKeyField>

export function createKeyField() {
  const controls = find('#key', HTMLElement)
  const field = find('#api-key', HTMLInputElement)
  const showKey = find('#show-key', HTMLInputElement)
  const back = find('#key-back', HTMLButtonElement)
  const hint = find('#key-hint', HTMLElement)
  const initialHint = hint.textContent
  let askedFrom: { readonly origin: HTMLElement; readonly scrollY: number } | undefined

  function setKey(key: string): void {
    field.value = key
    field.dispatchEvent(new Event('input', { bubbles: true }))
  }

  function goBack(): void {
    if (askedFrom === undefined) return
    back.hidden = true
    // On a small screen the field is at the top of the page, far away from the operation.
    scrollTo({ top: askedFrom.scrollY })
    askedFrom.origin.focus({ preventScroll: true })
    askedFrom = undefined
  }

  field.addEventListener('input', () => {
    const isSessionKey = field.value !== '' && field.value === loadKey()
    hint.textContent = isSessionKey ? 'The key of the catalogue.' : initialHint
  })
  field.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter') goBack()
  })
  back.addEventListener('click', goBack)
  onKeyChange({ onCleared: () => setKey('') })
  // A browser may restore what was typed and checked before. The samples show the key only if the reader asks again.
  showKey.checked = false
  setKey(loadKey() ?? '')

  return {
    get value(): string {
      return field.value.trim()
    },
    /** The key that samples show, or undefined if they show the name of the environment variable that has the key. */
    get sampleKey(): string | undefined {
      return showKey.checked && field.value.trim() !== '' ? field.value.trim() : undefined
    },
    onChange: (callback: () => void) => controls.addEventListener('input', callback),
    /** Goes to the field. Enter, or the button beside the field, then goes back to `origin`, which `name` describes. */
    ask(origin: HTMLElement, name: string): void {
      askedFrom = { origin, scrollY }
      back.textContent = `Back to “${name}”`
      back.hidden = false
      field.focus()
    },
  }
}
