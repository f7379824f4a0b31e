// Caches the replies to first pages, while the revision of the database is unchanged, up to MAX_BYTES. Other pages are
// rarely requested twice.

import type { Reply } from '../server/reply.ts'

const MAX_BYTES = 8 * 1024 * 1024

/** The memory that a cached reply takes besides its text. */
const OVERHEAD_BYTES = 1_024

export interface PageCache {
  /** Returns the reply to this query if it was cached for this revision of the database. */
  get(query: string, revision: string | undefined): Reply | undefined
  /** `revision` must have been read before the page. If the database changed in between, the next `get` drops the page. */
  set(query: string, revision: string | undefined, reply: Reply): void
}

export function createPageCache(maxBytes = MAX_BYTES): PageCache {
  const replies = new Map<string, Reply>()
  let bytes = 0
  let current: string | undefined

  function clear(): void {
    replies.clear()
    bytes = 0
  }

  return {
    get(query, revision) {
      if (revision !== current) clear()
      current = revision
      return replies.get(query)
    },

    set(query, revision, reply) {
      const size = sizeOf(query, reply)
      if (revision === undefined || revision !== current || replies.has(query) || size > maxBytes) return
      if (bytes + size > maxBytes) clear()
      replies.set(query, reply)
      bytes += size
    },
  }
}

function sizeOf(query: string, { body, headers }: Reply): number {
  return sizeOfText(query) + sizeOfText(body) + sizeOfText(headers.join('')) + OVERHEAD_BYTES
}

/** V8 takes at most two bytes for a character of a string. */
function sizeOfText(text: string | Buffer): number {
  return typeof text === 'string' ? 2 * text.length : text.length
}
