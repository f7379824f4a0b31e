// Signing in and out: the API key, the sign-in form, and the switch between this form and the catalogue.

import { AnimalStore } from '../../../client/src/animal-store.ts'
import { clearKey, loadKey, onKeyChange, saveKey } from './browser-storage.ts'
import { find } from './elements.ts'
import type { Pace } from './pace.ts'

export interface SessionOptions {
  readonly pace: Pace
  readonly onSignIn: () => void
  readonly onSignOut: () => void
}

export type Session = ReturnType<typeof createSession>

export function createSession({ pace, onSignIn, onSignOut }: SessionOptions) {
  const signInPanel = find('#sign-in', HTMLElement)
  const signInButton = find('#sign-in button', HTMLButtonElement)
  const problem = find('#sign-in-problem', HTMLElement)
  const keyField = find('#key', HTMLInputElement)
  const remember = find('#remember', HTMLInputElement)
  const catalogue = find('#catalogue', HTMLElement)
  const parts = [catalogue, find('#search', HTMLElement), find('#tools', HTMLElement)]
  let stores: { readonly store: AnimalStore; readonly patientStore: AnimalStore } | undefined
  let apiKey = ''
  let controller = new AbortController()

  /** A new key is stored and opens the catalogue only if the server has accepted it. A stored key opens it at once. */
  function signIn(key: string, wasAccepted: boolean): void {
    const options = { baseUrl: new URL('v1', document.baseURI).href, apiKey: key, fetch: pace.fetch }
    try {
      stores = { store: new AnimalStore({ ...options, retries: 0 }), patientStore: new AnimalStore(options) }
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

  /** Signs in with the stored key, or shows the sign-in form. */
  function restore(): void {
    const key = loadKey()
    if (key === undefined) signOut()
    else signIn(key, true)
  }

  /** Called when the server has accepted the key. */
  function showCatalogue(): void {
    if (!catalogue.hidden) return
    saveKey(apiKey, remember.checked)
    signInPanel.hidden = true
    setSigningIn(false)
    keyField.value = ''
    keyField.ariaInvalid = 'false'
    remember.checked = false
    for (const part of parts) part.hidden = false
    find('#title', HTMLElement).focus()
  }

  function setSigningIn(isSigningIn: boolean): void {
    signInButton.disabled = isSigningIn
    signInButton.textContent = isSigningIn ? 'Signing in …' : 'Sign in'
  }

  /** Shows the sign-in form with an error message, if there is one. */
  function signOut(message = ''): void {
    clearKey()
    controller.abort()
    stores = undefined
    onSignOut()
    for (const part of parts) part.hidden = true
    signInPanel.hidden = false
    setSigningIn(false)
    problem.textContent = message
    keyField.value = ''
    keyField.ariaInvalid = String(message !== '')
    keyField.focus()
  }

  /** Shows the sign-in form with an error message and the key that was typed, which may be valid. */
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
  onKeyChange({
    onSaved() {
      if (stores === undefined) restore()
    },
    onCleared(key) {
      if (stores !== undefined && key === apiKey) signOut()
    },
  })
  // The Back button can restore this page from the browser's cache after the user has signed out elsewhere in the tab.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted && stores !== undefined && loadKey() === undefined) signOut()
  })

  return {
    /** The client with the user's key. It does not retry: the page reports failures. Undefined while signed out. */
    get store() {
      return stores?.store
    },
    /** The same for a long download: it retries. */
    get patientStore() {
      return stores?.patientStore
    },
    /** Aborted when the user signs out. */
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
