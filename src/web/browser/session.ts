// Signing in and out: the API key, the sign-in form, and the switch between this form and the catalogue.

import { AnimalStore } from '../../../client/src/animal-store.ts'
import { find } from './elements.ts'
import { clearKey, loadKey, onKeyCleared, onKeySaved, saveKey } from './session-key.ts'

export interface SessionOptions {
  readonly onSignIn: () => void
  readonly onSignOut: () => void
}

export interface Session {
  /** The client with the user's key. It does not retry: the page reports failures. Undefined while signed out. */
  readonly store: AnimalStore | undefined
  /** The same with retries, for requests that nobody waits for. */
  readonly backgroundStore: AnimalStore | undefined
  /** Aborted when the user signs out. */
  readonly signal: AbortSignal
  readonly isCatalogueShown: boolean
  /** Signs in with the stored key, or shows the sign-in form. */
  restore(): void
  /** Called when the server has accepted the key. */
  showCatalogue(): void
  /** Shows the sign-in form with an error message, if there is one. */
  signOut(message?: string): void
  /** Shows the sign-in form with an error message and the key that was typed, which may be valid. */
  failSignIn(message: string): void
}

export function createSession({ onSignIn, onSignOut }: SessionOptions): Session {
  const signInPanel = find('#sign-in', HTMLElement)
  const signInButton = find('#sign-in button', HTMLButtonElement)
  const problem = find('#sign-in-problem', HTMLElement)
  const keyField = find('#key', HTMLInputElement)
  const remember = find('#remember', HTMLInputElement)
  const catalogue = find('#catalogue', HTMLElement)
  const tools = find('#tools', HTMLElement)
  let store: AnimalStore | undefined
  let backgroundStore: AnimalStore | undefined
  let apiKey = ''
  let controller = new AbortController()

  /** A new key is stored and opens the catalogue only if the server has accepted it. A stored key opens it at once. */
  function signIn(key: string, wasAccepted: boolean): void {
    const baseUrl = new URL('v1', document.baseURI).href
    try {
      store = new AnimalStore({ baseUrl, apiKey: key, retries: 0 })
      backgroundStore = new AnimalStore({ baseUrl, apiKey: key })
    } catch {
      signOut('This is not a valid key. A key has only ASCII letters, digits and symbols, and no spaces.')
      return
    }
    apiKey = key
    controller = new AbortController()
    problem.textContent = ''
    setSigningIn(true)
    if (wasAccepted) showCatalogue()
    onSignIn()
  }

  function restore(): void {
    const key = loadKey()
    if (key === undefined) signOut()
    else signIn(key, true)
  }

  function showCatalogue(): void {
    if (!catalogue.hidden) return
    saveKey(apiKey, remember.checked)
    signInPanel.hidden = true
    setSigningIn(false)
    keyField.value = ''
    keyField.ariaInvalid = 'false'
    remember.checked = false
    catalogue.hidden = false
    tools.hidden = false
    find('#title', HTMLElement).focus()
  }

  function setSigningIn(isSigningIn: boolean): void {
    signInButton.disabled = isSigningIn
    signInButton.textContent = isSigningIn ? 'Signing in …' : 'Sign in'
  }

  function signOut(message = ''): void {
    clearKey()
    controller.abort()
    store = undefined
    backgroundStore = undefined
    onSignOut()
    catalogue.hidden = true
    tools.hidden = true
    signInPanel.hidden = false
    setSigningIn(false)
    problem.textContent = message
    keyField.value = ''
    keyField.ariaInvalid = String(message !== '')
    keyField.focus()
  }

  function failSignIn(message: string): void {
    const typedKey = keyField.value
    signOut(message)
    keyField.value = typedKey
    keyField.ariaInvalid = 'false'
  }

  keyField.addEventListener('input', () => {
    problem.textContent = ''
    keyField.ariaInvalid = 'false'
  })
  find('#sign-in form', HTMLFormElement).addEventListener('submit', event => {
    event.preventDefault()
    signIn(keyField.value.trim(), false)
  })
  find('#sign-out', HTMLButtonElement).addEventListener('click', () => signOut())
  onKeyCleared(() => signOut())
  onKeySaved(() => {
    if (store === undefined) restore()
  })
  // The Back button can restore this page from the browser's cache after the user has signed out elsewhere in the tab.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted && store !== undefined && loadKey() === undefined) signOut()
  })

  return {
    get store() {
      return store
    },
    get backgroundStore() {
      return backgroundStore
    },
    get signal() {
      return controller.signal
    },
    get isCatalogueShown() {
      return !catalogue.hidden
    },
    restore,
    showCatalogue,
    signOut,
    failSignIn,
  }
}
