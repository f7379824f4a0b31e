// The one field for the API key, which all forms of the reference share. It is at the top of the page, and beside "Send"
// while that operation waits for a key. Both places keep room for it, so that the page does not move.

import { clearKey, connectTabs, loadKey, parsePastedKey } from './browser-storage.ts'
import { find } from './elements.ts'

export type ApiKeyField = ReturnType<typeof createApiKeyField>

export function createApiKeyField() {
  const home = find('#key-home', HTMLElement)
  const field = find('#key', HTMLElement)
  const input = find('#api-key', HTMLInputElement)
  const hint = find('#key-hint', HTMLElement)
  const initialHint = hint.textContent
  /** The key with which the user is signed in to the catalogue. */
  let catalogueKey = loadKey()
  /** The key that a write was refused for: its prefix does not say that it may only read. */
  let refusedKey: string | undefined
  const readOnlyPrefixes = input.dataset.readOnly?.split(' ') ?? []
  const listeners: (() => void)[] = []

  function setValue(value: string): void {
    input.value = value
    showHint()
  }

  function showHint(): void {
    const isCatalogueKey = input.value !== '' && input.value === catalogueKey
    hint.textContent = isCatalogueKey ? 'The key that you entered in the catalogue.' : initialHint
    input.ariaInvalid = 'false'
    tellListeners()
  }

  /** Whether the key is known to be one that may only read. */
  function isReadOnly(): boolean {
    const key = parsePastedKey(input.value)
    return key === refusedKey || readOnlyPrefixes.some(prefix => key.startsWith(prefix))
  }

  function tellListeners(): void {
    document.documentElement.classList.toggle('read-only', isReadOnly())
    for (const listener of listeners) listener()
  }

  input.addEventListener('input', showHint)
  const tabs = connectTabs({
    sharedKey: () => undefined,
    onKey(key) {
      catalogueKey = key
      if (input.value === '') setValue(key)
    },
    onSignIn: () => tabs.askForKey(),
    onSignOut(key) {
      if (key === loadKey()) clearKey()
      if (input.value === key) setValue('')
    },
  })
  setValue(catalogueKey ?? '')
  if (catalogueKey === undefined) tabs.askForKey()

  return {
    get value() {
      return parsePastedKey(input.value)
    },
    isReadOnly,
    /** The service has refused a write with this key. */
    markReadOnly(key: string): void {
      refusedKey = key
      tellListeners()
    },
    /** Calls the listener when the key has changed, or what is known about it. */
    onChange(listener: () => void): void {
      listeners.push(listener)
    },
    /** Asks for a key, or for another one, in this place. */
    askIn(place: Element): void {
      input.ariaInvalid = String(input.value !== '')
      place.append(field)
      input.focus({ preventScroll: true })
      input.select()
    },
    returnToTop(): void {
      home.append(field)
    },
  }
}
