// Bearer authentication: finds the API key of a request, or rejects the request with 401. Most requests need no look-up,
// because results are cached.

import { timingSafeEqual } from 'node:crypto'
import { type ApiKey, digestOf, type Environment, hasKeyFormat, isActive } from '../../api-key.ts'
import type { Clock } from '../../clock.ts'
import type { Store } from '../../store.ts'

/** How long a result is cached: short enough that a revoked key is rejected within 5 seconds everywhere. */
const CACHED_MS = 3_000

const MAX_ACCEPTED = 1_000

/** Few: in a flood of made-up keys, more entries would survive long enough to reach V8's old generation. */
const MAX_REJECTED = 64

/** Longer headers are not cached. */
const MAX_KEY_LENGTH = 512

const BEARER = /^bearer(?: +(.+))?$/i

/** The key that the request was sent with, or why it is rejected: a missing or an invalid credential. */
export type AuthResult =
  | { readonly apiKey: ApiKey; readonly rejected?: undefined }
  | { readonly apiKey?: undefined; readonly rejected: 'missing' | 'invalid' }

/** Takes the values of all `Authorization` headers. */
export type Authenticate = (authorization: readonly string[]) => Promise<AuthResult>

export interface AuthenticatorOptions {
  readonly store: Store
  readonly clock: Clock
  readonly environment: Environment
  /** The API key from the environment variable, accepted in addition to the stored ones. */
  readonly extraKey: string | undefined
}

const MISSING: AuthResult = { rejected: 'missing' }
const INVALID: AuthResult = { rejected: 'invalid' }

export function createAuthenticator({
  store,
  clock,
  environment,
  extraKey,
}: AuthenticatorOptions): Authenticate {
  const extra = extraKey === undefined ? undefined : { apiKey: environmentKey(extraKey, environment) }
  const find = cached(findKey)

  /** Does not check whether the key is active: the result is cached, and the key may expire meanwhile. */
  function findKey(authorization: string): AuthResult | Promise<AuthResult> {
    const secret = BEARER.exec(authorization)?.[1]
    if (secret === undefined) return MISSING
    const digest = digestOf(secret)
    if (extra !== undefined && isEqualDigest(extra.apiKey.digest, digest)) return extra
    if (!hasKeyFormat(secret, environment)) return INVALID
    return store.findKey(digest).then(apiKey => (apiKey === undefined ? INVALID : { apiKey }))
  }

  function checkKey(found: AuthResult): AuthResult {
    const { apiKey } = found
    if (apiKey === undefined) return found
    return apiKey.environment === environment && isActive(apiKey, clock()) ? found : INVALID
  }

  return async authorization => {
    const [first = ''] = authorization
    // A request with two Authorization headers is rejected.
    if (authorization.length > 1) return BEARER.exec(first)?.[1] === undefined ? MISSING : INVALID
    return checkKey(await find(first))
  }
}

/** Takes the same time wherever two digests differ, so that the time reveals nothing about the key. */
function isEqualDigest(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other))
}

function environmentKey(secret: string, environment: Environment): ApiKey {
  return {
    id: 'environment',
    name: 'from the environment',
    environment,
    digest: digestOf(secret),
    // A word, so that the database stores nothing that was computed from this key (docs/decisions/idempotency.md).
    idempotencyScope: 'environment',
    createdAt: new Date(0),
    expiresAt: undefined,
    revokedAt: undefined,
  }
}

type FindKey = (authorization: string) => AuthResult | Promise<AuthResult>

interface CacheEntry {
  readonly result: AuthResult
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
function cached(find: FindKey): FindKey {
  const accepted = new Map<string, CacheEntry>()
  const rejected = new Map<string, CacheEntry>()
  const pending = new Map<string, Promise<AuthResult>>()

  function add(authorization: string, entry: CacheEntry): void {
    if (authorization.length > MAX_KEY_LENGTH) return
    const [entries, limit] =
      entry.result.rejected === undefined ? [accepted, MAX_ACCEPTED] : [rejected, MAX_REJECTED]
    entries.delete(authorization)
    const oldest = entries.size >= limit ? entries.keys().next().value : undefined
    if (oldest !== undefined) entries.delete(oldest)
    entries.set(authorization, entry)
  }

  function lookUp(authorization: string): AuthResult | Promise<AuthResult> {
    // The time starts before the look-up, because the key may be revoked during it.
    const expiresAt = performance.now() + CACHED_MS
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
    const entry = accepted.get(authorization) ?? rejected.get(authorization)
    if (entry !== undefined && performance.now() < entry.expiresAt) return entry.result
    return pending.get(authorization) ?? lookUp(authorization)
  }
}
