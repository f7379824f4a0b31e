// The one field for the API key. It offers the key of the catalogue page if that is stored for this tab or this device.

import { find } from './elements.ts'
import { loadKey, onKeyChange } from './session-key.ts'

export interface KeyField {
  readonly value: string
  /** The key that samples show, or undefined if they show the name of the environment variable that has the key. */
  readonly sampleKey: string | undefined
  onChange(callback: () => void): void
  /** Goes to the field. Enter, or the button beside the field, then goes back to `origin`, which `name` describes. */
  ask(origin: HTMLElement, name: string): void
}

export function createKeyField(): KeyField {
  const field = find('#api-key', HTMLInputElement)
  const showKey = find('#show-key', HTMLInputElement)
  const back = find('#key-back', HTMLButtonElement)
  const hint = find('#key-hint', HTMLElement)
  const initialHint = hint.textContent
  const changed = new EventTarget()
  let askedFrom: { readonly origin: HTMLElement; readonly scrollY: number } | undefined

  function update(): void {
    const isSessionKey = field.value !== '' && field.value === loadKey()
    hint.textContent = isSessionKey ? 'The key of the catalogue.' : initialHint
    changed.dispatchEvent(new Event('change'))
  }

  function goBack(): void {
    if (askedFrom === undefined) return
    back.hidden = true
    // On a small screen the field is at the top of the page, far away from the operation.
    scrollTo({ top: askedFrom.scrollY })
    askedFrom.origin.focus({ preventScroll: true })
    askedFrom = undefined
  }

  // A browser may restore what was typed and checked before. The samples show the key only if the reader asks again.
  showKey.checked = false
  field.value = loadKey() ?? ''
  field.addEventListener('input', update)
  field.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter') goBack()
  })
  back.addEventListener('click', goBack)
  showKey.addEventListener('change', update)
  onKeyChange({
    onCleared() {
      field.value = ''
      update()
    },
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
    ask(origin, name) {
      askedFrom = { origin, scrollY }
      back.textContent = `Back to “${name}”`
      back.hidden = false
      field.focus()
    },
  }
}
