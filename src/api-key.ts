// API keys: how they are generated, what format they have, and the digest that is stored instead of the key.

import { hash, randomBytes, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

export const ENVIRONMENTS = ['production', 'staging'] as const
export type Environment = (typeof ENVIRONMENTS)[number]

/** What a key may do: `read` is lists, searches, counts and animals by id; `write` is everything. */
export const ACCESSES = ['read', 'write'] as const
export type Access = (typeof ACCESSES)[number]

/** A key as it is stored, with its digest instead of the secret. */
export interface ApiKey {
  readonly id: string
  readonly name: string
  readonly environment: Environment
  readonly access: Access
  /** In hexadecimal. */
  readonly digest: string
  /** Idempotency keys are unique within a scope. An API key and its successors share one. */
  readonly idempotencyScope: string
  readonly createdAt: Date
  readonly expiresAt: Date | undefined
  readonly revokedAt: Date | undefined
  /** The day, in UTC, such as 2026-11-19. */
  readonly lastUsed: string | undefined
}

export const KEY_PREFIX = { production: 'as_live_', staging: 'as_test_' } as const satisfies Record<
  Environment,
  string
>

/**
 * A person, a scanner and a page can tell that such a key may only read. A version that does not know them refuses these keys, instead
 * of letting them write.
 */
export const READ_ONLY_PREFIX = {
  production: 'as_read_live_',
  staging: 'as_read_test_',
} as const satisfies Record<Environment, string>

export const ALL_PREFIXES: readonly string[] = [
  ...Object.values(KEY_PREFIX),
  ...Object.values(READ_ONLY_PREFIX),
]

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_LENGTH = 32
const CHECKSUM_LENGTH = 6

interface NewKey {
  readonly name: string
  readonly environment: Environment
  /** By default, the key may write. */
  readonly access?: Access
  readonly createdAt: Date
  readonly expiresAt?: Date | undefined
  /** That of the predecessor. By default, the key gets a scope of its own. */
  readonly idempotencyScope?: string
}

/** `secret` is the key itself: it is shown once and never stored. */
export function generateKey({
  name,
  environment,
  access = 'write',
  createdAt,
  expiresAt,
  idempotencyScope,
}: NewKey): {
  secret: string
  apiKey: ApiKey
} {
  const random = Array.from({ length: RANDOM_LENGTH }, () => BASE62[randomInt(BASE62.length)]).join('')
  const body = prefixOf(environment, access) + random
  const secret = body + checksum(body)
  const id = `key_${randomBytes(6).toString('hex')}`
  return {
    secret,
    apiKey: {
      id,
      name,
      environment,
      access,
      digest: digestOf(secret),
      idempotencyScope: idempotencyScope ?? id,
      createdAt,
      expiresAt,
      revokedAt: undefined,
      lastUsed: undefined,
    },
  }
}

/** Returns whether a string has the format and checksum of a key of this environment. It may still be unknown. */
export function hasKeyFormat(secret: string, environment: Environment): boolean {
  const body = secret.slice(0, -CHECKSUM_LENGTH)
  const prefix = ACCESSES.map(access => prefixOf(environment, access)).find(each => secret.startsWith(each))
  return (
    prefix !== undefined &&
    secret.length === prefix.length + RANDOM_LENGTH + CHECKSUM_LENGTH &&
    secret.endsWith(checksum(body))
  )
}

function prefixOf(environment: Environment, access: Access): string {
  return access === 'read' ? READ_ONLY_PREFIX[environment] : KEY_PREFIX[environment]
}

/** Plain SHA-256 is enough: a key has 190 random bits, so a slow hash would not make it harder to guess. */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'hex')
}

export function isActive(key: ApiKey, now: number): boolean {
  return key.revokedAt === undefined && (key.expiresAt === undefined || now < key.expiresAt.getTime())
}

/** Returns the key that has replaced this one, or undefined. `keys` are those of its environment, oldest first. */
export function successorOf(key: ApiKey, keys: readonly ApiKey[]): ApiKey | undefined {
  return successorsOf(key, keys).find(({ revokedAt }) => revokedAt === undefined)
}

/** Returns the keys that this one was rotated to, revoked ones included. */
export function successorsOf({ id, idempotencyScope }: ApiKey, keys: readonly ApiKey[]): ApiKey[] {
  const index = keys.findIndex(key => key.id === id)
  return keys.slice(index + 1).filter(key => key.idempotencyScope === idempotencyScope)
}

function checksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let digit = 0; digit < CHECKSUM_LENGTH; digit++) {
    digits = BASE62[rest % BASE62.length] + digits
    rest = Math.floor(rest / BASE62.length)
  }
  return digits
}
