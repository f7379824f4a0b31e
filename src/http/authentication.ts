// Bearer authentication: turns a request into the key that sent it, or refuses it with 401.

import { type ApiKey, digestOf, type Environment, hasKeyForm, isInForce } from '../api-key.ts'
import type { Clock } from '../clock.ts'
import { ServiceError } from '../error.ts'
import type { Store } from '../store.ts'

/** A key is asked for again after this long, so that a revoked one is dead within 5 seconds everywhere. */
const TRUST_MS = 3_000

/** More keys than this in use at once only means more look-ups. */
const MAX_REMEMBERED = 1_000

/** No key is longer, with the word before it. */
const MAX_LENGTH = 512

const BEARER = /^bearer(?: +(.+))?$/i

/** The key that a request was sent with, or why it has none. Returned, because to throw takes much longer. */
export type Verdict = ApiKey | Unauthorized

/** The verdict is there at once where the key is remembered. */
export type Authenticate = (authorization: readonly string[]) => Verdict | Promise<Verdict>

export class Unauthorized extends ServiceError {
  readonly challenge: string

  constructor(hadToken: boolean) {
    // One message for every cause: a stranger learns nothing about which keys exist.
    super('unauthorized', 'A valid API key is required: send it as "Authorization: Bearer <API_KEY>".')
    this.challenge = `Bearer realm="animal-store"${hadToken ? ', error="invalid_token"' : ''}`
  }
}

// Made once: where one came from says nothing.
const NO_TOKEN = new Unauthorized(false)
const WRONG_TOKEN = new Unauthorized(true)

/** The key that a header holds, in force or not, or why it holds none. */
type Holder = ApiKey | Unauthorized

export interface AuthenticationOptions {
  readonly store: Store
  readonly clock: Clock
  readonly environment: Environment
  /** A key from the environment variable, accepted beside the stored ones. */
  readonly extraKey: string | undefined
}

/** Takes the values of all `Authorization` headers of a request. Two of them are no credential at all. */
export function authenticator({ store, clock, environment, extraKey }: AuthenticationOptions): Authenticate {
  const extra =
    extraKey === undefined ? undefined : keyFromEnvironment(extraKey, environment, new Date(clock()))
  const holderOf = remember(find)

  function find(authorization: string): Holder | Promise<Holder> {
    const secret = BEARER.exec(authorization)?.[1]
    if (secret === undefined) return NO_TOKEN
    // Digests may be compared in any way: how long that takes tells nothing of the key they were made from.
    const digest = digestOf(secret)
    if (extra?.digest === digest) return extra
    if (!hasKeyForm(secret, environment)) return WRONG_TOKEN
    return store.findKey(digest).then(key => key ?? WRONG_TOKEN)
  }

  function judge(holder: Holder): Verdict {
    if (holder instanceof Unauthorized) return holder
    const isValid = holder.environment === environment && isInForce(holder, clock())
    return isValid ? holder : WRONG_TOKEN
  }

  return authorization => {
    const [first = ''] = authorization
    if (authorization.length > 1) return BEARER.exec(first)?.[1] === undefined ? NO_TOKEN : WRONG_TOKEN
    const holder = holderOf(first)
    return holder instanceof Promise ? holder.then(judge) : judge(holder)
  }
}

function keyFromEnvironment(secret: string, environment: Environment, createdAt: Date): ApiKey {
  const digest = digestOf(secret)
  return {
    id: 'environment',
    name: 'from the environment',
    environment,
    digest,
    scope: `environment:${digest}`,
    createdAt,
    expiresAt: undefined,
    revokedAt: undefined,
  }
}

interface Remembered {
  readonly holder: Holder
  readonly until: number
}

/**
 * Remembers who holds which header, for a short while and up to a number: those that hold nothing as well, since a
 * client with a wrong key goes on trying, and a new key is none that was tried before; but apart, so that no flood of
 * them drives the others out. A map compares texts only once their hashes agree, whose seed nobody knows, so how long
 * it takes tells nothing of the keys in it. Real time, not the service's clock: what is limited is how long a
 * revocation may go unnoticed.
 */
function remember(find: (authorization: string) => Holder | Promise<Holder>): typeof find {
  const keys = new Map<string, Remembered>()
  const refusals = new Map<string, Remembered>()
  /** Many that need the same key at once share one question. */
  const asked = new Map<string, Promise<Holder>>()

  function keep(authorization: string, entry: Remembered): void {
    if (authorization.length > MAX_LENGTH) return
    const entries = entry.holder instanceof Unauthorized ? refusals : keys
    entries.delete(authorization)
    const oldest = entries.size >= MAX_REMEMBERED ? entries.keys().next().value : undefined
    if (oldest !== undefined) entries.delete(oldest)
    entries.set(authorization, entry)
  }

  function ask(authorization: string): Holder | Promise<Holder> {
    // The time it is trusted for begins with the question.
    const until = performance.now() + TRUST_MS
    const found = find(authorization)
    if (!(found instanceof Promise)) {
      keep(authorization, { holder: found, until })
      return found
    }
    const settled = found.finally(() => asked.delete(authorization))
    asked.set(authorization, settled)
    settled.then(
      holder => keep(authorization, { holder, until }),
      () => {},
    )
    return settled
  }

  return authorization => {
    const known = keys.get(authorization) ?? refusals.get(authorization)
    if (known !== undefined && performance.now() < known.until) return known.holder
    return asked.get(authorization) ?? ask(authorization)
  }
}
