// Signing in and out: the API key, the sign-in form, and the switch between this form and the catalogue.

import { AnimalStore } from '../../../client/src/animal-store.ts'
import { find } from './elements.ts'
import type { Pace } from './pace.ts'
import { clearKey, loadKey, onKeyCleared, onKeySaved, saveKey } from './session-key.ts'

export interface SessionOptions {
  readonly pace: Pace
  readonly onSignIn: () => void
  readonly onSignOut: () => void
}

export interface Stores {
  /** For requests that the user waits for. It does not retry: the page reports failures. */
  readonly waiting: AnimalStore
  /** For requests that nobody waits for. It does not retry either: the page tries again later. */
  readonly quiet: AnimalStore
  /** For a long download: it retries. */
  readonly patient: AnimalStore
}

export interface Session {
  /** The clients with the user's key. Undefined while signed out. */
  readonly stores: Stores | undefined
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

export function createSession({ pace, onSignIn, onSignOut }: SessionOptions): Session {
  const signInPanel = find('#sign-in', HTMLElement)
  const signInButton = find('#sign-in button', HTMLButtonElement)
  const problem = find('#sign-in-problem', HTMLElement)
  const keyField = find('#key', HTMLInputElement)
  const remember = find('#remember', HTMLInputElement)
  const catalogue = find('#catalogue', HTMLElement)
  const parts = [catalogue, find('#search', HTMLElement), find('#tools', HTMLElement)]
  let stores: Stores | undefined
  let apiKey = ''
  let controller = new AbortController()

  /** A new key is stored and opens the catalogue only if the server has accepted it. A stored key opens it at once. */
  function signIn(key: string, wasAccepted: boolean): void {
    const baseUrl = new URL('v1', document.baseURI).href
    try {
      stores = {
        waiting: new AnimalStore({ baseUrl, apiKey: key, retries: 0, fetch: pace.fetch }),
        quiet: new AnimalStore({ baseUrl, apiKey: key, retries: 0, fetch: pace.fetchQuietly }),
        patient: new AnimalStore({ baseUrl, apiKey: key, fetch: pace.fetch }),
      }
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
    for (const part of parts) part.hidden = false
    find('#title', HTMLElement).focus()
  }

  function setSigningIn(isSigningIn: boolean): void {
    signInButton.disabled = isSigningIn
    signInButton.textContent = isSigningIn ? 'Signing in …' : 'Sign in'
  }

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
    if (stores === undefined) restore()
  })
  // The Back button can restore this page from the browser's cache after the user has signed out elsewhere in the tab.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted && stores !== undefined && loadKey() === undefined) signOut()
  })

  return {
    get stores() {
      return stores
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
