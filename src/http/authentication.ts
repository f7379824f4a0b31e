// Bearer authentication: turns a request into the key that sent it, or refuses it with 401.

import { timingSafeEqual } from 'node:crypto'
import { type ApiKey, digestOf, type Environment, hasKeyForm, isInForce } from '../api-key.ts'
import type { Clock } from '../clock.ts'
import { ServiceError } from '../error.ts'
import type { Store } from '../store.ts'

/** A key is asked for again after this long, so that a revoked one is dead within 5 seconds everywhere. */
const TRUST_MS = 3_000

/** More keys than this in use at once only means more look-ups. */
const MAX_REMEMBERED = 1_000

const BEARER = /^bearer(?: +(.+))?$/i

/** Who sent a request. */
export interface Caller {
  readonly keyId: string
  readonly scope: string
}

export type Authenticate = (authorization: readonly string[]) => Promise<Caller>

export class Unauthorized extends ServiceError {
  readonly challenge: string

  constructor(hadToken: boolean) {
    // One message for every cause: a stranger learns nothing about which keys exist.
    super('unauthorized', 'A valid API key is required: send it as "Authorization: Bearer <API_KEY>".')
    this.challenge = `Bearer realm="animal-store"${hadToken ? ', error="invalid_token"' : ''}`
  }
}

export interface AuthenticationOptions {
  readonly store: Store
  readonly clock: Clock
  readonly environment: Environment
  /** A key from the environment variable, accepted beside the stored ones. */
  readonly extraKey: string | undefined
}

/** Takes the values of all `Authorization` headers of a request. Two of them are no credential at all. */
export function authenticator({ store, clock, environment, extraKey }: AuthenticationOptions): Authenticate {
  const extraDigest = extraKey === undefined ? undefined : digestOf(extraKey)
  const extraCaller = extraDigest && {
    keyId: 'environment',
    scope: `environment:${Buffer.from(extraDigest).toString('hex')}`,
  }
  const findKey = rememberKeys(store)

  return async authorization => {
    const bearer = BEARER.exec(authorization[0] ?? '')
    const secret = bearer?.[1]
    if (secret === undefined || authorization.length > 1) throw new Unauthorized(secret !== undefined)
    const digest = digestOf(secret)
    if (extraDigest && extraCaller && timingSafeEqual(digest, extraDigest)) return extraCaller
    const key = hasKeyForm(secret, environment) ? await findKey(digest) : undefined
    if (key === undefined || key.environment !== environment || !isInForce(key, clock())) {
      throw new Unauthorized(true)
    }
    return { keyId: key.id, scope: key.scope }
  }
}

/**
 * Looks keys up in the store and remembers those it found, for a short while and up to a number. Real time, not
 * the service's clock: what is limited is how long a revocation may go unnoticed.
 */
function rememberKeys(store: Store): (digest: Uint8Array) => Promise<ApiKey | undefined> {
  const remembered = new Map<string, { found: Promise<ApiKey | undefined>; until: number }>()

  return async digest => {
    // Only part of the digest selects the entry; the whole of it is then compared in constant time.
    const slot = Buffer.from(digest.buffer, digest.byteOffset, 8).toString('latin1')
    const known = remembered.get(slot)
    const found = known && performance.now() < known.until ? known.found : lookUp(slot, digest)
    const key = await found
    return key && timingSafeEqual(key.digest, digest) ? key : undefined
  }

  /** Many that need the same key at once share one question, and the time it is trusted for begins with it. */
  function lookUp(slot: string, digest: Uint8Array): Promise<ApiKey | undefined> {
    const oldest = remembered.size >= MAX_REMEMBERED ? remembered.keys().next().value : undefined
    if (oldest !== undefined) remembered.delete(oldest)
    const entry = { found: store.findKey(digest), until: performance.now() + TRUST_MS }
    remembered.delete(slot)
    remembered.set(slot, entry)
    const forget = () => remembered.get(slot) === entry && remembered.delete(slot)
    entry.found.then(key => key === undefined && forget(), forget)
    return entry.found
  }
}
