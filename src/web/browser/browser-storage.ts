// The browser's storage for this tab and for this device, the API key in it, and the channel on which tabs share the key. Each
// base path has its own, because a host may serve several catalogues; the channel also belongs to one environment. If the
// browser blocks storage, nothing is stored, and the page works without.

import { find } from './elements.ts'

const BASE_PATH = new URL('.', document.baseURI).pathname

/** A value that is stored until the tab is closed. */
export function tabValue(name: string) {
  return storedValue(name, () => sessionStorage)
}

/** A value that all tabs share, and that is stored until it is cleared. */
export function deviceValue(name: string) {
  return storedValue(name, () => localStorage)
}

function storedValue(name: string, storage: () => Storage) {
  const storageName = `${name}:${BASE_PATH}`
  return {
    load: (): string | undefined => attempt(() => storage().getItem(storageName)) ?? undefined,
    save: (value: string) => attempt(() => storage().setItem(storageName, value)),
    clear: () => attempt(() => storage().removeItem(storageName)),
  }
}

function attempt<Result>(action: () => Result): Result | undefined {
  try {
    return action()
  } catch {
    return undefined
  }
}

const tabKey = tabValue('animal-store-key')
const deviceKey = deviceValue('animal-store-key')

/** Stores the key of the session for this tab and, if the user asks for it, for this device. */
export function saveKey(key: string, onDevice: boolean): void {
  tabKey.save(key)
  if (onDevice) deviceKey.save(key)
}

/** Clears the key on this device too. */
export function clearKey(): void {
  tabKey.clear()
  deviceKey.clear()
}

export function loadKey(): string | undefined {
  return tabKey.load() ?? deviceKey.load()
}

export const INVALID_KEY =
  'This is not a valid key. A key has only ASCII letters, digits and symbols, and no spaces.'

/** People copy a key together with the rest of its header, or with the quotes around it. */
export function parsePastedKey(text: string): string {
  return text.replace(/^[\s"'`“”‘’]*(?:authorization:\s*)?(?:bearer\s+)?["'`“”‘’]*|[\s"'`“”‘’]+$/gi, '')
}

interface TabsOptions {
  /** Returns the key that this tab may give to another one: a key that the server has accepted. */
  readonly sharedKey: () => string | undefined
  /** Another tab has answered `askForKey`. */
  readonly onKey: (key: string) => void
  /** The user has signed in in another tab. */
  readonly onSignIn: () => void
  /** The user has signed out in another tab, which had this key. */
  readonly onSignOut: (key: string) => void
}

/** Connects the tabs of this catalogue. Every page of the same origin can listen (docs/security.md). */
export function connectTabs({ sharedKey, onKey, onSignIn, onSignOut }: TabsOptions) {
  const environment = find('.environment', HTMLElement).textContent
  const channel = new BroadcastChannel(`animal-store:${environment}:${BASE_PATH}`)
  /** Tells the answers to this tab from those to other tabs. */
  const tabId = Math.random()
  channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    // Any page of the same origin can send anything.
    const { kind, tab, key }: Record<string, unknown> = Object(data)
    const shared = sharedKey()
    if (kind === 'ask' && shared !== undefined) channel.postMessage({ kind: 'answer', tab, key: shared })
    if (kind === 'answer' && tab === tabId && typeof key === 'string') onKey(key)
    if (kind === 'sign-in') onSignIn()
    if (kind === 'sign-out' && typeof key === 'string') onSignOut(key)
  })
  return {
    /** Asks the other tabs for their key. */
    askForKey: () => channel.postMessage({ kind: 'ask', tab: tabId }),
    announceSignIn: () => channel.postMessage({ kind: 'sign-in' }),
    announceSignOut: (key: string) => channel.postMessage({ kind: 'sign-out', key }),
  }
}
