// Bearer authentication: finds the API key of a request, or rejects the request with 401. Most requests need no look-up,
// because accepted keys are cached.

import { timingSafeEqual } from 'node:crypto'
import { type ApiKey, digestOf, type Environment, hasKeyFormat, isActive } from '../../api-key.ts'
import type { Clock } from '../../clock.ts'
import { ServiceError } from '../../error.ts'
import type { Store } from '../../store.ts'

/** How long a key is cached: short enough that a revoked key is rejected within 5 seconds everywhere. */
const CACHED_MS = 3_000

const MAX_CACHED = 1_000

/** The id of the key from the environment variable, which is not stored. */
export const ENVIRONMENT_KEY_ID = 'environment'

const BEARER = /^bearer(?: +(.+))?$/i

/**
 * Takes the values of all `Authorization` headers. Returns the key that the request was sent with, or why it is rejected: a
 * missing or an invalid credential.
 */
export type Authenticate = (authorization: readonly string[]) => Promise<ApiKey | 'missing' | 'invalid'>

/** The message is the same for all causes, so that an attacker cannot find out which keys exist. */
export function unauthorized(hadToken: boolean): ServiceError {
  const message = 'A valid API key is required: send it as "Authorization: Bearer <API_KEY>".'
  const challenge = `Bearer realm="animal-store"${hadToken ? ', error="invalid_token"' : ''}`
  return new ServiceError('unauthorized', message, { headers: ['www-authenticate', challenge] })
}

/** For a key that may only read, on an operation that writes. */
export const forbidden = () =>
  new ServiceError('forbidden', 'This API key may only read. Use one that may write.', {
    headers: ['www-authenticate', 'Bearer realm="animal-store", error="insufficient_scope"'],
  })

export interface AuthenticatorOptions {
  readonly store: Store
  readonly clock: Clock
  readonly environment: Environment
  /** The API key from the environment variable, accepted in addition to the stored ones. */
  readonly extraKey: string | undefined
  /** Called for each request with a valid key. */
  readonly onKeyUse?: ((key: ApiKey, now: number) => void) | undefined
}

interface CacheEntry {
  readonly apiKey: ApiKey
  readonly expiresAt: number
}

export function createAuthenticator({
  store,
  clock,
  environment,
  extraKey,
  onKeyUse = () => {},
}: AuthenticatorOptions): Authenticate {
  const extra = extraKey === undefined ? undefined : environmentKey(extraKey, environment)
  /**
   * A look-up in a `Map` compares strings only if their hashes are equal, and the seed of the hash is secret, so its timing
   * reveals nothing about the cached keys. The cache uses real time and not the service's clock, because it limits how long a
   * revocation can go unnoticed.
   */
  const cache = new Map<string, CacheEntry>()
  /** Concurrent requests with the same header share one look-up. */
  const pending = new Map<string, Promise<ApiKey | undefined>>()

  function addToCache(authorization: string, entry: CacheEntry): void {
    cache.delete(authorization)
    const oldest = cache.size >= MAX_CACHED ? cache.keys().next().value : undefined
    if (oldest !== undefined) cache.delete(oldest)
    cache.set(authorization, entry)
  }

  async function lookUp(authorization: string, digest: string): Promise<ApiKey | undefined> {
    // The time starts before the look-up, because the key may be revoked during it.
    const expiresAt = performance.now() + CACHED_MS
    const apiKey = await store.findKey(digest)
    if (apiKey !== undefined) addToCache(authorization, { apiKey, expiresAt })
    return apiKey
  }

  /** Does not check whether the key is active: it is cached, and may expire meanwhile. */
  function findKey(authorization: string, secret: string): ApiKey | Promise<ApiKey | undefined> | undefined {
    const digest = digestOf(secret)
    if (extra !== undefined && isEqualDigest(extra.digest, digest)) {
      addToCache(authorization, { apiKey: extra, expiresAt: Number.POSITIVE_INFINITY })
      return extra
    }
    if (!hasKeyFormat(secret, environment)) return undefined
    const found =
      pending.get(authorization) ?? lookUp(authorization, digest).finally(() => pending.delete(authorization))
    pending.set(authorization, found)
    return found
  }

  return async function authenticate(authorization) {
    const [first = ''] = authorization
    const cached = authorization.length === 1 ? cache.get(first) : undefined
    let apiKey = cached?.apiKey
    if (cached === undefined || performance.now() >= cached.expiresAt) {
      const secret = BEARER.exec(first)?.[1]
      if (secret === undefined) return 'missing'
      // A request with two Authorization headers is rejected.
      apiKey = authorization.length > 1 ? undefined : await findKey(first, secret)
    }
    const now = clock()
    if (apiKey?.environment !== environment || !isActive(apiKey, now)) return 'invalid'
    onKeyUse(apiKey, now)
    return apiKey
  }
}

/** Takes the same time wherever two digests differ, so that the time reveals nothing about the key. */
function isEqualDigest(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other))
}

function environmentKey(secret: string, environment: Environment): ApiKey {
  return {
    id: ENVIRONMENT_KEY_ID,
    name: 'from the environment',
    environment,
    access: 'write',
    digest: digestOf(secret),
    // A word, so that the database stores nothing that was computed from this key (docs/decisions/idempotency.md).
    idempotencyScope: 'environment',
    createdAt: new Date(0),
    expiresAt: undefined,
    revokedAt: undefined,
    lastUsed: undefined,
  }
}
