// Bearer authentication: finds the API key of a request, or rejects the request with 401.

import { timingSafeEqual } from 'node:crypto'
import { type ApiKey, digestOf, type Environment, hasKeyFormat, isActive } from '../../api-key.ts'
import type { Clock } from '../../clock.ts'
import type { Store } from '../../store.ts'
import { createAuthCache } from './auth-cache.ts'

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
  const find = createAuthCache(findKey)

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
