// Rate limits per API key: a token bucket for each key, and the headers that report it (docs/decisions/rate-limits.md).

import { ServiceError } from '../../error.ts'
import type { Warn } from '../../store.ts'

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
  /** Takes one request of the key. Returns a promise if another process has to be asked. */
  take(keyId: string): RateLimitResult | Promise<RateLimitResult>
}

/** What a bucket has granted, and its state after that. It can be sent to another process. */
export interface Grant {
  readonly granted: number
  readonly remaining: number
  readonly untilFullMs: number
  /** Until the bucket has a request again. 0 if something was granted. */
  readonly untilNextMs: number
}

/** Returns milliseconds, and must not jump when the clock of the machine is set. */
type Now = () => number

/** Rounding errors of doubles are smaller than this. */
const TOLERANCE = 1e-6

/** The share of a limit that all workers together may hold unused. */
const SHARE_IN_ADVANCE = 0.1

/** How long a request waits for the primary process. */
const ANSWER_TIMEOUT_MS = 1_000

const ALONE =
  'The primary process does not answer. Until it does, this worker grants each API key its share of the rate limit.'

const monotonic: Now = () => performance.now()

export const rateLimited = (retryAfterSeconds: number) =>
  new ServiceError('rate_limited', 'This API key has sent too many requests. Try again later.', {
    headers: ['retry-after', String(retryAfterSeconds)],
  })

export function createBuckets({ requests, windowSeconds }: RateLimit, now = monotonic) {
  const windowMs = windowSeconds * 1_000
  /** A bucket gets one request back in this time. */
  const intervalMs = windowMs / requests
  /** When the bucket of each key is full again. The key that was used longest ago comes first. */
  const fullAt = new Map<string, number>()

  return {
    /** Takes up to `wanted` requests out of the bucket of the key. */
    take(keyId: string, wanted: number): Grant {
      const time = now()
      // A bucket that is full again is like a new one. So only keys that were used within the window are in memory.
      dropWhile(fullAt, at => at <= time)
      const before = Math.max((fullAt.get(keyId) ?? 0) - time, 0)
      const available = (windowMs - before) / intervalMs + TOLERANCE
      const granted = Math.min(Math.floor(available), wanted)
      const untilFullMs = before + granted * intervalMs
      if (granted > 0) {
        fullAt.delete(keyId)
        fullAt.set(keyId, time + untilFullMs)
      }
      const remaining = Math.max(Math.floor(available - granted), 0)
      return { granted, remaining, untilFullMs, untilNextMs: granted > 0 ? 0 : (1 - available) * intervalMs }
    },
  }
}

export function createRateLimiter(limit: RateLimit, now = monotonic): RateLimiter {
  const buckets = createBuckets(limit, now)
  return { take: keyId => resultOf(limit, buckets.take(keyId, 1)) }
}

/** How many requests a worker asks for at once. */
export function portionOf({ requests }: RateLimit, workers: number): number {
  return Math.max(Math.floor((requests * SHARE_IN_ADVANCE) / workers), 1)
}

interface Lease {
  /** The requests that this worker may still grant. */
  tokens: number
  /** What the bucket had left. */
  readonly remaining: number
  readonly fullAt: number
  /** The bucket is empty until then. */
  readonly nextAt: number
}

interface SharedLimiterOptions {
  /** Gets a portion from the buckets that all workers share, once the primary process answers. Never rejects. */
  readonly ask: (keyId: string) => Promise<Grant>
  readonly workers: number
  readonly warn: Warn
  readonly now?: Now
}

/**
 * For a worker. With 4 workers and a limit of 600 requests, the first request of a key asks the primary process, which takes 15 out
 * of the bucket of the key: the lease. The worker grants these without asking again. If the bucket is empty, the lease has none, and
 * the worker refuses requests by itself until the bucket has one again.
 *
 * If the primary process has not answered a question in time, the worker has buckets of its own with its share of the
 * limit, for all keys, until that question is answered.
 */
export function createSharedRateLimiter(
  limit: RateLimit,
  { ask, workers, warn, now = monotonic }: SharedLimiterOptions,
): RateLimiter {
  const leases = new Map<string, Lease>()
  /** One question per key at a time: otherwise concurrent requests would take the whole bucket to one worker. */
  const questions = new Map<string, Promise<void>>()
  /** The keys whose questions were not answered in time. */
  const late = new Set<string>()
  // A bucket for less than one request would never grant one.
  const ownBuckets = createBuckets({ ...limit, requests: Math.max(limit.requests / workers, 1) }, now)

  /** Returns undefined if the primary has to be asked. */
  function takeFromLease(keyId: string): RateLimitResult | undefined {
    const time = now()
    const lease = leases.get(keyId)
    // The bucket is full again, and what is left of the lease is in it.
    if (lease === undefined || lease.fullAt <= time) return undefined
    if (lease.tokens === 0 && time >= lease.nextAt) return undefined
    const granted = Math.min(lease.tokens, 1)
    lease.tokens -= granted
    return resultOf(limit, {
      granted,
      remaining: lease.remaining + lease.tokens,
      untilFullMs: lease.fullAt - time,
      untilNextMs: lease.nextAt - time,
    })
  }

  function renewLease(keyId: string, { granted, remaining, untilFullMs, untilNextMs }: Grant): void {
    const time = now()
    dropWhile(leases, ({ fullAt }) => fullAt <= time)
    leases.delete(keyId)
    leases.set(keyId, { tokens: granted, remaining, fullAt: time + untilFullMs, nextAt: time + untilNextMs })
  }

  /** Resolves when the lease is renewed, or the question is late. */
  function requestGrant(keyId: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(() => {
      if (late.size === 0) warn(ALONE)
      late.add(keyId)
      resolve()
    }, ANSWER_TIMEOUT_MS).unref()
    ask(keyId).then(grant => {
      clearTimeout(timer)
      questions.delete(keyId)
      if (late.delete(keyId) && late.size === 0) warn('The primary process answers again.')
      renewLease(keyId, grant)
      resolve()
    })
    questions.set(keyId, promise)
    return promise
  }

  async function askAndTake(keyId: string): Promise<RateLimitResult> {
    while (late.size === 0) {
      await (questions.get(keyId) ?? requestGrant(keyId))
      const taken = takeFromLease(keyId)
      if (taken !== undefined) return taken
    }
    return resultOf(limit, ownBuckets.take(keyId, 1))
  }

  return { take: keyId => takeFromLease(keyId) ?? askAndTake(keyId) }
}

function resultOf({ requests, windowSeconds }: RateLimit, grant: Grant): RateLimitResult {
  const policy = `"key";q=${requests};w=${windowSeconds}`
  const state = `"key";r=${grant.remaining};t=${inSeconds(grant.untilFullMs)}`
  return {
    headers: ['ratelimit-policy', policy, 'ratelimit', state],
    retryAfterSeconds: grant.granted > 0 ? undefined : inSeconds(grant.untilNextMs),
  }
}

/** Rounded up, so that a client that waits this long does not come too early. */
function inSeconds(ms: number): number {
  return Math.max(Math.ceil(ms / 1_000 - TOLERANCE), 1)
}

/** Deletes entries from the oldest on, up to the first one that is to be kept. */
function dropWhile<Value>(entries: Map<string, Value>, isOver: (value: Value) => boolean): void {
  for (const [key, value] of entries) {
    if (!isOver(value)) return
    entries.delete(key)
  }
}
