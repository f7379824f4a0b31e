// Signing in and out: the sign-in form, the API key, and which of the two parts of the page is visible.

import { AnimalStore } from '../../../client/src/animal-store.ts'
import { find } from './elements.ts'
import { clearKey, loadKey, saveKey } from './session-key.ts'

export interface SessionOptions {
  readonly onSignIn: () => void
  readonly onSignOut: () => void
}

export interface Session {
  /** The client with the user's key. Undefined while signed out. */
  readonly store: AnimalStore | undefined
  /** Aborted when the user signs out. */
  readonly signal: AbortSignal
  readonly isCatalogueShown: boolean
  /** Signs in with the stored key, or shows the sign-in form. */
  restore(): void
  showCatalogue(): void
  /** Shows the sign-in form with an error message, if there is one. */
  signOut(message?: string): void
}

export function createSession({ onSignIn, onSignOut }: SessionOptions): Session {
  const signInPanel = find('#sign-in', HTMLElement)
  const signInButton = find('#sign-in button', HTMLButtonElement)
  const problem = find('#sign-in-problem', HTMLElement)
  const keyField = find('#key', HTMLInputElement)
  const catalogue = find('#catalogue', HTMLElement)
  const signOutButton = find('#sign-out', HTMLButtonElement)
  let store: AnimalStore | undefined
  let controller = new AbortController()

  /** A new key opens the catalogue only after the server has accepted it. A stored key was accepted before. */
  function signIn(key: string, wasAccepted: boolean): void {
    try {
      store = new AnimalStore({ baseUrl: new URL('./v1', location.href).href, apiKey: key, retries: 0 })
    } catch {
      signOut('This is not a valid key. A key has only ASCII letters, digits and symbols, and no spaces.')
      return
    }
    controller = new AbortController()
    problem.textContent = ''
    signInButton.disabled = true
    saveKey(key)
    if (wasAccepted) showCatalogue()
    onSignIn()
  }

  function showCatalogue(): void {
    if (!catalogue.hidden) return
    signInPanel.hidden = true
    signInButton.disabled = false
    keyField.value = ''
    keyField.ariaInvalid = 'false'
    catalogue.hidden = false
    signOutButton.hidden = false
    find('#title', HTMLElement).focus()
  }

  function signOut(message = ''): void {
    clearKey()
    controller.abort()
    store = undefined
    onSignOut()
    catalogue.hidden = true
    signOutButton.hidden = true
    signInPanel.hidden = false
    signInButton.disabled = false
    problem.textContent = message
    keyField.value = ''
    keyField.ariaInvalid = String(message !== '')
    keyField.focus()
  }

  find('#sign-in form', HTMLFormElement).addEventListener('submit', event => {
    event.preventDefault()
    signIn(keyField.value.trim(), false)
  })
  signOutButton.addEventListener('click', () => signOut())
  // The Back button can restore this page from the browser's cache after the user has signed out elsewhere in the tab.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted && store !== undefined && loadKey() === undefined) signOut()
  })

  return {
    get store() {
      return store
    },
    get signal() {
      return controller.signal
    },
    get isCatalogueShown() {
      return !catalogue.hidden
    },
    restore() {
      const key = loadKey()
      if (key === undefined) signOut()
      else signIn(key, true)
    },
    showCatalogue,
    signOut,
  }
}
