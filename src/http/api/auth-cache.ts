// Caches which API key an Authorization header belongs to, so that most requests need no look-up.

/** Short enough that a revoked key is rejected within 5 seconds everywhere. */
const TTL_MS = 3_000

const MAX_ACCEPTED = 1_000

/** Few: in a flood of made-up keys, more entries would survive long enough to reach V8's old generation. */
const MAX_REJECTED = 64

/** Longer headers are not cached. */
const MAX_KEY_LENGTH = 512

interface Rejectable {
  /** Set if the header was rejected. */
  readonly rejected?: unknown
}

type Find<Result> = (authorization: string) => Result | Promise<Result>

interface Entry<Result> {
  readonly result: Result
  readonly expiresAt: number
}

/**
 * Wraps `find` with a cache. Rejected headers are cached too, because a client with a wrong key keeps trying, but
 * separately, so that a flood of them evicts no valid key. Concurrent calls for one header share one look-up.
 *
 * A look-up in a `Map` compares strings only if their hashes are equal, and the seed of the hash is secret, so its
 * timing reveals nothing about the cached keys. The cache uses real time and not the service's clock, because it
 * limits how long a revocation can go unnoticed.
 */
export function createAuthCache<Result extends Rejectable>(find: Find<Result>): Find<Result> {
  const accepted = new Map<string, Entry<Result>>()
  const rejected = new Map<string, Entry<Result>>()
  const pending = new Map<string, Promise<Result>>()

  function add(authorization: string, entry: Entry<Result>): void {
    if (authorization.length > MAX_KEY_LENGTH) return
    const [entries, limit] =
      entry.result.rejected === undefined ? [accepted, MAX_ACCEPTED] : [rejected, MAX_REJECTED]
    entries.delete(authorization)
    const oldest = entries.size >= limit ? entries.keys().next().value : undefined
    if (oldest !== undefined) entries.delete(oldest)
    entries.set(authorization, entry)
  }

  function lookUp(authorization: string): Result | Promise<Result> {
    // The time starts before the look-up, because the key may be revoked during it.
    const expiresAt = performance.now() + TTL_MS
    const found = find(authorization)
    if (!(found instanceof Promise)) {
      add(authorization, { result: found, expiresAt })
      return found
    }
    const shared = found.then(
      result => {
        pending.delete(authorization)
        add(authorization, { result, expiresAt })
        return result
      },
      error => {
        pending.delete(authorization)
        throw error
      },
    )
    pending.set(authorization, shared)
    return shared
  }

  return authorization => {
    const cached = accepted.get(authorization) ?? rejected.get(authorization)
    if (cached !== undefined && performance.now() < cached.expiresAt) return cached.result
    return pending.get(authorization) ?? lookUp(authorization)
  }
}
