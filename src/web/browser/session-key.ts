// The API key of the session, in the browser's storage for this tab. If the browser blocks storage, the session ends
// when the user leaves the page.

const STORAGE_NAME = 'animal-store-key'

export function saveKey(key: string): void {
  try {
    sessionStorage.setItem(STORAGE_NAME, key)
  } catch {}
}

export function clearKey(): void {
  try {
    sessionStorage.removeItem(STORAGE_NAME)
  } catch {}
}

export function loadKey(): string | undefined {
  try {
    return sessionStorage.getItem(STORAGE_NAME) ?? undefined
  } catch {
    return undefined
  }
}
