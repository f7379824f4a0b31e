// API keys: how they are generated, what format they have, and the digest that is stored instead of the key.

import { hash, randomBytes, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

export const ENVIRONMENTS = ['production', 'staging'] as const
export type Environment = (typeof ENVIRONMENTS)[number]

/** A key as it is stored, with its digest instead of the secret. */
export interface ApiKey {
  readonly id: string
  readonly name: string
  readonly environment: Environment
  /** In hexadecimal. */
  readonly digest: string
  /** Idempotency keys are unique within a scope. An API key and its successors share one. */
  readonly idempotencyScope: string
  readonly createdAt: Date
  readonly expiresAt: Date | undefined
  readonly revokedAt: Date | undefined
}

export const KEY_PREFIX = { production: 'as_live_', staging: 'as_test_' } as const satisfies Record<
  Environment,
  string
>
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_LENGTH = 32
const CHECKSUM_LENGTH = 6

interface NewKey {
  readonly name: string
  readonly environment: Environment
  readonly createdAt: Date
  readonly expiresAt?: Date | undefined
  /** That of the predecessor. By default, the key gets a scope of its own. */
  readonly idempotencyScope?: string
}

/** `secret` is the key itself: it is shown once and never stored. */
export function generateKey({ name, environment, createdAt, expiresAt, idempotencyScope }: NewKey): {
  secret: string
  apiKey: ApiKey
} {
  const random = Array.from({ length: RANDOM_LENGTH }, () => BASE62[randomInt(BASE62.length)]).join('')
  const body = KEY_PREFIX[environment] + random
  const secret = body + checksum(body)
  const id = `key_${randomBytes(6).toString('hex')}`
  return {
    secret,
    apiKey: {
      id,
      name,
      environment,
      digest: digestOf(secret),
      idempotencyScope: idempotencyScope ?? id,
      createdAt,
      expiresAt,
      revokedAt: undefined,
    },
  }
}

/** Returns whether a string has the format and checksum of a key of this environment. It may still be unknown. */
export function hasKeyFormat(secret: string, environment: Environment): boolean {
  const prefix = KEY_PREFIX[environment]
  const body = secret.slice(0, -CHECKSUM_LENGTH)
  return (
    secret.length === prefix.length + RANDOM_LENGTH + CHECKSUM_LENGTH &&
    secret.startsWith(prefix) &&
    secret.endsWith(checksum(body))
  )
}

/** Plain SHA-256 is enough: a key has 190 random bits, so a slow hash would not make it harder to guess. */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'hex')
}

export function isActive(key: ApiKey, now: number): boolean {
  return key.revokedAt === undefined && (key.expiresAt === undefined || now < key.expiresAt.getTime())
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
