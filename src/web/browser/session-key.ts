// The key of whoever is signed in, kept by the browser for this tab alone. Where it keeps nothing for pages, one is
// signed in until the page is left.

const NAME = 'animal-store-key'

export function keepKey(key: string): void {
  try {
    sessionStorage.setItem(NAME, key)
  } catch {}
}

export function forgetKey(): void {
  try {
    sessionStorage.removeItem(NAME)
  } catch {}
}

export function keptKey(): string | undefined {
  try {
    return sessionStorage.getItem(NAME) ?? undefined
  } catch {
    return undefined
  }
}
