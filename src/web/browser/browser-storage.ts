// The browser's storage for this tab and for this device. Each base path has its own, because a host may serve several
// catalogues. If the browser blocks storage, nothing is stored, and the page works without.

const BASE_PATH = typeof document === 'undefined' ? '/' : new URL('.', document.baseURI).pathname

export interface StoredValue {
  /** The name in the browser's storage. */
  readonly storageName: string
  load(): string | undefined
  save(value: string): void
  clear(): void
}

/** A value that is stored until the tab is closed. */
export function tabValue(name: string): StoredValue {
  return storedValue(name, () => sessionStorage)
}

/** A value that all tabs share, and that is stored until it is cleared. */
export function deviceValue(name: string): StoredValue {
  return storedValue(name, () => localStorage)
}

function storedValue(name: string, storage: () => Storage): StoredValue {
  const storageName = `${name}:${BASE_PATH}`
  return {
    storageName,
    load() {
      try {
        return storage().getItem(storageName) ?? undefined
      } catch {
        return undefined
      }
    },
    save(value) {
      try {
        storage().setItem(storageName, value)
      } catch {}
    },
    clear() {
      try {
        storage().removeItem(storageName)
      } catch {}
    },
  }
}
