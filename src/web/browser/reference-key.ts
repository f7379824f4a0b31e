// The one field for the API key. It offers the key of the catalogue page if that is stored for this tab or this device.

import { find } from './elements.ts'
import { loadKey, onKeyCleared } from './session-key.ts'

export interface KeyField {
  readonly value: string
  /** The key that samples show, or undefined if they show the name of the environment variable that has the key. */
  readonly sampleKey: string | undefined
  onChange(callback: () => void): void
  focus(): void
}

export function createKeyField(): KeyField {
  const field = find('#api-key', HTMLInputElement)
  const showKey = find('#show-key', HTMLInputElement)
  const hint = find('#key-hint', HTMLElement)
  const initialHint = hint.textContent
  const changed = new EventTarget()

  function update(): void {
    const isSessionKey = field.value !== '' && field.value === loadKey()
    hint.textContent = isSessionKey ? 'The key that you used to sign in to the catalogue.' : initialHint
    changed.dispatchEvent(new Event('change'))
  }

  // A browser may restore what was typed and checked before. The samples show the key only if the reader asks again.
  showKey.checked = false
  field.value = loadKey() ?? ''
  field.addEventListener('input', update)
  showKey.addEventListener('change', update)
  onKeyCleared(() => {
    field.value = ''
    update()
  })
  update()

  const value = () => field.value.trim()
  return {
    get value() {
      return value()
    },
    get sampleKey() {
      return showKey.checked && value() !== '' ? value() : undefined
    },
    onChange: callback => changed.addEventListener('change', callback),
    focus: () => field.focus(),
  }
}
