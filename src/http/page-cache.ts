// First pages as they were sent, kept only while they are provably what would be read again, and up to a number of
// bytes. Deeper pages are hardly ever asked for twice.

import type { Reply } from './reply.ts'

const MAX_BYTES = 8 * 1024 * 1024

/** What a page takes beside its text. */
const OVERHEAD_BYTES = 1_024

export interface PageCache {
  /** The page for this query, if it is of this revision. */
  find(query: string, revision: string | undefined): Reply | undefined
  /** Keeps a page that was read after its revision was looked up: it is of that one, or of one the next look tells. */
  keep(query: string, revision: string | undefined, page: Reply): void
}

export function pageCache(maxBytes = MAX_BYTES): PageCache {
  const pages = new Map<string, Reply>()
  let bytes = 0
  let current: string | undefined

  function forgetAll(): void {
    pages.clear()
    bytes = 0
  }

  return {
    find(query, revision) {
      if (revision !== current) forgetAll()
      current = revision
      return pages.get(query)
    },

    keep(query, revision, page) {
      const size = sizeOf(query, page)
      if (revision === undefined || revision !== current || pages.has(query) || size > maxBytes) return
      if (bytes + size > maxBytes) forgetAll()
      pages.set(query, page)
      bytes += size
    },
  }
}

/** Two bytes for each character is the most that V8 takes. */
function sizeOf(query: string, { body, headers }: Reply): number {
  return 2 * (query.length + body.length + headers.join('').length) + OVERHEAD_BYTES
}
