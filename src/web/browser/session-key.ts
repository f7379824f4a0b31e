// The API key of the session. It is stored for this tab and, if the user asks for it, for this device.

import { deviceValue, tabValue } from './browser-storage.ts'

const NAME = 'animal-store-key'

const tabKey = tabValue(NAME)
const deviceKey = deviceValue(NAME)

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

/** Calls back when another tab has stored a key on this device, and when it has cleared the key that this tab uses. */
export function onKeyChange(change: { readonly onSaved?: () => void; readonly onCleared: () => void }): void {
  addEventListener('storage', ({ key, oldValue, newValue }) => {
    if (key !== deviceKey.storageName) return
    if (newValue !== null) change.onSaved?.()
    else if (oldValue === loadKey()) change.onCleared()
  })
}
