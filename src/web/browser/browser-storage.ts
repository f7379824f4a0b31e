// The browser's storage for this tab and for this device. Each base path has its own, because a host may serve several
// catalogues. If the browser blocks storage, nothing is stored, and the page works without.

const BASE_PATH = typeof document === 'undefined' ? '/' : new URL('.', document.baseURI).pathname

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
