// The browser's storage for this tab and for this device, the API key in it, and the channel on which tabs share the key. Each
// base path has its own, because a host may serve several catalogues. If the browser blocks storage, nothing is stored, and the
// page works without.

import { isObject } from '../../json.ts'
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

export interface TabsOptions {
  /** Returns the key that this tab may give to another one: a key that the server has accepted. */
  readonly sharedKey: () => string | undefined
  /** Another tab is signed in with this key. */
  readonly onKey: (key: string) => void
  /** The user has signed out in another tab, which had this key. */
  readonly onSignOut: (key: string) => void
}

/** Connects the tabs of this catalogue. Every page of the same origin can listen (docs/security.md). */
export function connectTabs({ sharedKey, onKey, onSignOut }: TabsOptions) {
  const environment = find('.environment', HTMLElement).textContent
  const channel = new BroadcastChannel(`animal-store:${environment}:${BASE_PATH}`)
  const shareKey = () => {
    const key = sharedKey()
    if (key !== undefined) channel.postMessage({ key })
  }
  channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (!isObject(data)) return
    if (data.asks === true) shareKey()
    if (typeof data.key === 'string') onKey(data.key)
    if (typeof data.signedOut === 'string') onSignOut(data.signedOut)
  })
  return {
    /** Asks the other tabs for their key. `onKey` gets the answer. */
    askForKey: () => channel.postMessage({ asks: true }),
    /** Tells the tabs that are signed out which key this one has. */
    shareKey,
    announceSignOut: (key: string) => channel.postMessage({ signedOut: key }),
  }
}
