// The browser's storage for this tab and for this device, and the API key in it. Each base path has its own, because a
// host may serve several catalogues. If the browser blocks storage, nothing is stored, and the page works without.

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
    storageName,
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

/** Clears the key on this device too, which signs out the other tabs that use it. */
export function clearKey(): void {
  tabKey.clear()
  deviceKey.clear()
}

export function loadKey(): string | undefined {
  return tabKey.load() ?? deviceKey.load()
}

/** Calls back when another tab has stored a key on this device, and when it has cleared that key. */
export function onKeyChange(change: {
  readonly onSaved?: () => void
  readonly onCleared: (key: string | null) => void
}): void {
  addEventListener('storage', ({ key, oldValue, newValue }) => {
    if (key !== deviceKey.storageName) return
    if (newValue === null) change.onCleared(oldValue)
    else change.onSaved?.()
  })
}
