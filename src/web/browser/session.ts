// Signing in and out: the API key, the sign-in form, and the switch between this form and the catalogue.

import { AnimalStore, AnimalStoreError } from '../../../client/src/animal-store.ts'
import { clearKey, connectTabs, INVALID_KEY, loadKey, parsePastedKey, saveKey } from './browser-storage.ts'
import { find } from './elements.ts'
import type { Pace } from './pace.ts'

/** How long another tab may take to answer before the sign-in form appears. A later answer still counts. */
const ANSWER_MS = 100

/** How many characters of a key the menu shows: enough to tell keys apart. */
const SHOWN_CHARACTERS = 4

interface SessionOptions {
  readonly pace: Pace
  readonly onSignIn: () => void
  /** Requests stop, and the rest of the page stays as it is: the user may sign in again. */
  readonly onPause: () => void
  readonly onSignOut: () => void
  /** The key can only read, as its prefix says, or the server, which has rejected a write. */
  readonly onReadOnly: (isRejected: boolean) => void
}

export type Session = ReturnType<typeof createSession>

export function createSession({ pace, onSignIn, onPause, onSignOut, onReadOnly }: SessionOptions) {
  const signInPanel = find('#sign-in', HTMLElement)
  const signInButton = find('#sign-in .primary', HTMLButtonElement)
  const problem = find('#sign-in-problem', HTMLElement)
  const keyField = find('#key', HTMLInputElement)
  const showKey = find('#show-key', HTMLButtonElement)
  const remember = find('#remember', HTMLInputElement)
  const catalogue = find('#catalogue', HTMLElement)
  const title = find('#title', HTMLElement)
  const parts = [catalogue, find('#search', HTMLElement), find('#tools', HTMLElement)]
  let stores: { readonly store: AnimalStore; readonly retryingStore: AnimalStore } | undefined
  let apiKey = ''
  let controller = new AbortController()
  /** Gets the focus when the catalogue appears: what had it when the key stopped working. */
  let focused = title
  let isTyped = false
  let isAccepted = false
  const tabs = connectTabs({
    sharedKey: () => (stores !== undefined && isAccepted ? apiKey : undefined),
    onKey(key) {
      if (isIdle()) signIn(key)
    },
    onSignIn() {
      if (isIdle()) tabs.askForKey()
    },
    onSignOut(key) {
      if (stores !== undefined && key === apiKey) signOut()
    },
  })

  /** The user is signed out, and has not begun to sign in. */
  function isIdle(): boolean {
    return stores === undefined && keyField.value === ''
  }

  function signIn(key: string, typed = false): void {
    const options = { baseUrl: new URL('v1', document.baseURI).href, apiKey: key, fetch: pace.fetch }
    try {
      stores = { store: new AnimalStore({ ...options, retries: 0 }), retryingStore: new AnimalStore(options) }
    } catch {
      showSignIn(INVALID_KEY)
      return
    }
    apiKey = key
    setReadOnly(findPrefix(key, 'readOnlyPrefixes') !== undefined)
    isTyped = typed
    isAccepted = false
    controller = new AbortController()
    problem.textContent = ''
    setSigningIn(true)
    // A typed key may be wrong. A key that was accepted before opens the catalogue at once.
    if (!typed) showCatalogue()
    onSignIn()
  }

  /** Signs in with the stored key or with that of another tab, or shows the sign-in form. */
  function restore(): void {
    const key = loadKey()
    if (key !== undefined) signIn(key)
    else {
      tabs.askForKey()
      setTimeout(() => stores === undefined && signInPanel.hidden && showSignIn(), ANSWER_MS)
    }
  }

  /** Called when the server has accepted the key. */
  function acceptKey(): void {
    if (isAccepted) return
    isAccepted = true
    saveKey(apiKey, isTyped && remember.checked)
    if (isTyped) tabs.announceSignIn()
    remember.checked = false
    showCatalogue()
  }

  function showCatalogue(): void {
    if (!catalogue.hidden) return
    signInPanel.hidden = true
    setSigningIn(false)
    keyField.value = ''
    keyField.ariaInvalid = 'false'
    setKeyVisible(false)
    find('#key-in-use', HTMLElement).textContent = `Key ${shortenKey(apiKey)}`
    for (const part of parts) part.hidden = false
    focused.focus()
    focused = title
  }

  function shortenKey(key: string): string {
    const prefix = findPrefix(key, 'ownPrefixes') ?? ''
    return `${key.slice(0, prefix.length + SHOWN_CHARACTERS)}…`
  }

  function findPrefix(
    key: string,
    list: 'ownPrefixes' | 'otherPrefixes' | 'readOnlyPrefixes',
  ): string | undefined {
    return signInPanel.dataset[list]?.split(' ').find(prefix => key.startsWith(prefix))
  }

  /** Style sheets hide what a key that can only read cannot do. */
  function setReadOnly(isReadOnly: boolean, isRejected = false): void {
    document.documentElement.classList.toggle('read-only', isReadOnly)
    if (isReadOnly) onReadOnly(isRejected)
  }

  function setSigningIn(isSigningIn: boolean): void {
    signInButton.disabled = isSigningIn
    signInButton.textContent = isSigningIn ? 'Signing in …' : 'Sign in'
  }

  function setKeyVisible(isVisible: boolean): void {
    keyField.type = isVisible ? 'text' : 'password'
    showKey.textContent = isVisible ? 'Hide key' : 'Show key'
  }

  /** Shows the sign-in form with an error message, if there is one. The key that was typed stays: it may be almost right. */
  function showSignIn(message = ''): void {
    controller.abort()
    stores = undefined
    for (const part of parts) part.hidden = true
    signInPanel.hidden = false
    setSigningIn(false)
    problem.textContent = message
    keyField.ariaInvalid = String(message !== '')
    keyField.focus()
  }

  function signOut(): void {
    clearKey()
    focused = title
    onSignOut()
    showSignIn()
  }

  /** Called when the server does not accept the key. What the user has typed in the catalogue stays. */
  function rejectKey(): void {
    if (stores === undefined) return
    const { activeElement } = document
    if (parts.some(part => part.contains(activeElement))) focused = activeElement as HTMLElement
    const message = describeRejection()
    clearKey()
    onPause()
    showSignIn(message)
    // The user may be typing, but not this key.
    if (focused !== title) find('#sign-in-title', HTMLElement).focus()
  }

  function describeRejection(): string {
    const { environment, otherEnvironment } = signInPanel.dataset
    if (findPrefix(apiKey, 'otherPrefixes') !== undefined)
      return `This key is for ${otherEnvironment}. This page is for ${environment}.`
    return isTyped && !isAccepted
      ? 'This key is not accepted here. It may be mistyped or revoked.'
      : 'This key stopped working: it was revoked or has expired. What you have typed is there after you sign in again.'
  }

  keyField.addEventListener('input', () => {
    keyField.ariaInvalid = 'false'
  })
  showKey.addEventListener('click', () => setKeyVisible(keyField.type === 'password'))
  find('#sign-in form', HTMLFormElement).addEventListener('submit', event => {
    event.preventDefault()
    signIn(parsePastedKey(keyField.value), true)
  })
  find('#sign-out', HTMLButtonElement).addEventListener('click', () => {
    tabs.announceSignOut(apiKey)
    signOut()
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
    /** The same for what needs many requests, such as a download: it retries. */
    get retryingStore() {
      return stores?.retryingStore
    },
    /** Aborted when the user signs out, or when the key is not accepted. */
    get signal() {
      return controller.signal
    },
    get isCatalogueShown() {
      return !catalogue.hidden
    },
    get isReadOnly() {
      return document.documentElement.classList.contains('read-only')
    },
    restore,
    acceptKey,
    rejectKey,
    /** Acts on what a failed request says about the key, if it says anything. */
    noteFailure(error: unknown): void {
      const code = error instanceof AnimalStoreError ? error.code : undefined
      if (code === 'unauthorized') rejectKey()
      if (code === 'forbidden') setReadOnly(true, true)
    },
    /** The server cannot be reached, so nobody knows whether the key is valid. */
    failSignIn(message: string): void {
      onPause()
      showSignIn(message)
      keyField.ariaInvalid = 'false'
    },
  }
}
