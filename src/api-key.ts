// What an API key is: how one is made, how its form is checked, and the digest that is kept in its stead.

import { hash, randomBytes, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

export const ENVIRONMENTS = ['production', 'staging'] as const
export type Environment = (typeof ENVIRONMENTS)[number]

/** A stored key. The key itself is not part of it: only its digest is kept. */
export interface ApiKey {
  readonly id: string
  readonly name: string
  readonly environment: Environment
  /** In hexadecimal digits. */
  readonly digest: string
  /** What idempotency keys are remembered under: shared by a key and the keys it was rotated into. */
  readonly scope: string
  readonly createdAt: Date
  readonly expiresAt: Date | undefined
  readonly revokedAt: Date | undefined
}

const PREFIX = { production: 'as_live_', staging: 'as_test_' } as const satisfies Record<Environment, string>
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_LENGTH = 32
const CHECKSUM_LENGTH = 6

export interface NewKey {
  readonly name: string
  readonly environment: Environment
  readonly createdAt: Date
  readonly expiresAt?: Date | undefined
  readonly scope?: string
}

/** Makes a key. `secret` is the key itself, to be shown once and kept nowhere. */
export function makeKey({ name, environment, createdAt, expiresAt, scope }: NewKey): {
  secret: string
  apiKey: ApiKey
} {
  const random = Array.from({ length: RANDOM_LENGTH }, () => BASE62[randomInt(BASE62.length)]).join('')
  const unchecked = PREFIX[environment] + random
  const secret = unchecked + checksum(unchecked)
  const id = `key_${randomBytes(6).toString('hex')}`
  return {
    secret,
    apiKey: {
      id,
      name,
      environment,
      digest: digestOf(secret),
      scope: scope ?? id,
      createdAt,
      expiresAt,
      revokedAt: undefined,
    },
  }
}

/** Whether a string has the form of a key of this environment. Says nothing about whether it is known. */
export function hasKeyForm(secret: string, environment: Environment): boolean {
  const prefix = PREFIX[environment]
  const unchecked = secret.slice(0, -CHECKSUM_LENGTH)
  return (
    secret.length === prefix.length + RANDOM_LENGTH + CHECKSUM_LENGTH &&
    secret.startsWith(prefix) &&
    secret.endsWith(checksum(unchecked))
  )
}

/** Plain SHA-256: a key has 190 random bits, so there is nothing for a slow hash to protect. */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'hex')
}

export function isInForce(key: ApiKey, now: number): boolean {
  return key.revokedAt === undefined && (key.expiresAt === undefined || now < key.expiresAt.getTime())
}

function checksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    digits = BASE62[rest % BASE62.length] + digits
    rest = Math.floor(rest / BASE62.length)
  }
  return digits
}
