// Rate limits per API key: a token bucket for each key, and the headers that report it (docs/decisions/rate-limits.md).

export interface RateLimit {
  /** How many requests a key may send in the window. */
  readonly requests: number
  readonly windowSeconds: number
}

export interface RateLimitResult {
  /** The headers of the reply: alternating names and values. */
  readonly headers: readonly string[]
  /** Set if the request is beyond the limit. */
  readonly retryAfterSeconds: number | undefined
}

export interface RateLimiter {
  /** Takes one request out of the bucket of the key. */
  take(keyId: string): RateLimitResult
  /** Returns the number of buckets in memory. */
  size(): number
}

/** Rounding errors of doubles are smaller than this. */
const TOLERANCE = 1e-6

/**
 * `processes` share the limit: each grants its part, rounded down, but at least one request. `now` is in milliseconds
 * and must not jump when the clock of the machine is set.
 */
export function createRateLimiter(
  { requests, windowSeconds }: RateLimit,
  processes = 1,
  now: () => number = () => performance.now(),
): RateLimiter {
  const granted = Math.max(Math.floor(requests / processes), 1)
  const windowMs = windowSeconds * 1_000
  /** A bucket gets one request back in this time. */
  const intervalMs = windowMs / granted
  const policy = `"key";q=${requests};w=${windowSeconds}`
  /** When the bucket of each key is full again. The key that was used longest ago comes first. */
  const fullAt = new Map<string, number>()

  /** A bucket that is full again is like a new one. So only keys that were used within the window are in memory. */
  function dropFullBuckets(time: number): void {
    for (const [keyId, at] of fullAt) {
      if (at > time) return
      fullAt.delete(keyId)
    }
  }

  return {
    take(keyId) {
      const time = now()
      dropFullBuckets(time)
      const before = Math.max((fullAt.get(keyId) ?? 0) - time, 0)
      const remaining = (windowMs - before) / intervalMs - 1 + TOLERANCE
      const isGranted = remaining >= 0
      const untilFull = isGranted ? before + intervalMs : before
      if (isGranted) {
        fullAt.delete(keyId)
        fullAt.set(keyId, time + untilFull)
      }
      const state = `"key";r=${Math.max(Math.floor(remaining), 0)};t=${inSeconds(untilFull)}`
      return {
        headers: ['ratelimit-policy', policy, 'ratelimit', state],
        retryAfterSeconds: isGranted ? undefined : inSeconds(-remaining * intervalMs),
      }
    },

    size: () => fullAt.size,
  }
}

/** Rounded up, so that a client that waits this long does not come too early. */
function inSeconds(ms: number): number {
  return Math.max(Math.ceil(ms / 1_000 - TOLERANCE), 1)
}
