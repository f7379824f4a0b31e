// Bearer authentication: turns a request into the key that sent it, or refuses it with 401.

import { type ApiKey, digestOf, type Environment, hasKeyForm, isInForce } from '../api-key.ts'
import type { Clock } from '../clock.ts'
import { ServiceError } from '../error.ts'
import type { Store } from '../store.ts'
import type { Caller } from './exchange.ts'

/** A key is asked for again after this long, so that a revoked one is dead within 5 seconds everywhere. */
const TRUST_MS = 3_000

/** More keys than this in use at once only means more look-ups. */
const MAX_REMEMBERED = 1_000

const BEARER = /^bearer(?: +(.+))?$/i

/** The caller is there at once where its key is remembered. */
export type Authenticate = (authorization: readonly string[]) => Caller | Promise<Caller>

export class Unauthorized extends ServiceError {
  readonly challenge: string

  constructor(hadToken: boolean) {
    // One message for every cause: a stranger learns nothing about which keys exist.
    super('unauthorized', 'A valid API key is required: send it as "Authorization: Bearer <API_KEY>".')
    this.challenge = `Bearer realm="animal-store"${hadToken ? ', error="invalid_token"' : ''}`
  }
}

// Made once: where one came from says nothing, and to find it out takes longer than all the rest of a refusal.
const NO_TOKEN = new Unauthorized(false)
const WRONG_TOKEN = new Unauthorized(true)

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
  const extraCaller = { keyId: 'environment', scope: `environment:${extraDigest}` }
  const findKey = rememberKeys(store)

  function callerOf(key: ApiKey | undefined): Caller {
    if (key === undefined || key.environment !== environment || !isInForce(key, clock())) throw WRONG_TOKEN
    return { keyId: key.id, scope: key.scope }
  }

  return authorization => {
    const secret = BEARER.exec(authorization[0] ?? '')?.[1]
    if (secret === undefined) throw NO_TOKEN
    if (authorization.length > 1) throw WRONG_TOKEN
    // Digests may be compared in any way: how long that takes tells nothing of the key they were made from.
    const digest = digestOf(secret)
    if (digest === extraDigest) return extraCaller
    if (!hasKeyForm(secret, environment)) throw WRONG_TOKEN
    const found = findKey(digest)
    return found instanceof Promise ? found.then(callerOf) : callerOf(found)
  }
}

interface Remembered<Key> {
  readonly found: Key
  readonly until: number
}

/**
 * Looks keys up in the store and remembers what it found, for a short while and up to a number. Those that do not exist
 * as well, since a client with a wrong key goes on trying, and a new key is none that was tried before; but apart, so
 * that no flood of them drives the others out. Real time, not the service's clock: what is limited is how long a
 * revocation may go unnoticed.
 */
function rememberKeys(store: Store): (digest: string) => ApiKey | undefined | Promise<ApiKey | undefined> {
  const existing = new Map<string, Remembered<ApiKey | Promise<ApiKey | undefined>>>()
  const missing = new Map<string, Remembered<undefined>>()

  return digest => {
    const known = existing.get(digest) ?? missing.get(digest)
    return known !== undefined && performance.now() < known.until ? known.found : lookUp(digest)
  }

  /** Many that need the same key at once share one question, and the time it is trusted for begins with it. */
  function lookUp(digest: string): Promise<ApiKey | undefined> {
    const until = performance.now() + TRUST_MS
    const asked = store.findKey(digest)
    const entry = { found: asked, until }
    remember(existing, digest, entry)
    const settle = (key?: ApiKey) => {
      if (existing.get(digest) !== entry) return
      existing.delete(digest)
      if (key !== undefined) remember(existing, digest, { found: key, until })
    }
    asked.then(
      key => {
        settle(key)
        if (key === undefined) remember(missing, digest, { found: undefined, until })
      },
      () => settle(),
    )
    return asked
  }
}

function remember<Entry>(entries: Map<string, Entry>, digest: string, entry: Entry): void {
  entries.delete(digest)
  const oldest = entries.size >= MAX_REMEMBERED ? entries.keys().next().value : undefined
  if (oldest !== undefined) entries.delete(oldest)
  entries.set(digest, entry)
}
