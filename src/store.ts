// The Store contract: all that the service asks of a database. test/store.contract.ts holds each promise made here.

import type { Animal, NewAnimal, Status } from './animal.ts'
import type { ApiKey, Environment } from './api-key.ts'

/** The database cannot be used as it is, and a person has to look at it: the message is one line for them. */
export class UnusableDatabase extends Error {
  override name = 'UnusableDatabase'
}

/** Idempotency keys are remembered this long. */
export const IDEMPOTENCY_WINDOW_MS = 24 * 60 * 60 * 1000

export interface Page {
  readonly limit: number
  /** Only animals with a larger id. */
  readonly after?: bigint | undefined
  /** Only animals with this status; one without a status is in no filtered page. */
  readonly status?: Status | undefined
}

/** A page as it is sent. */
export interface RenderedPage {
  /** Its animals as a JSON array. */
  readonly json: string
  /** The id that the next page comes after, if there is another page. */
  readonly next: bigint | undefined
}

export interface Creation {
  readonly animal: NewAnimal
  readonly idempotency?: { readonly scope: string; readonly key: string } | undefined
}

export type Outcome =
  | { readonly kind: 'created' | 'replayed'; readonly animal: Animal }
  /** The idempotency key already stands for another animal. Nothing was stored. */
  | { readonly kind: 'key_reused' }
  /** The idempotency key is taken, and for what could not be found out. Nothing was stored: to repeat it is right. */
  | { readonly kind: 'unavailable'; readonly cause: unknown }

/**
 * Every method rejects with a ServiceError `unavailable` while the database cannot be reached, is locked by
 * someone else, or cannot be written, and works again once the cause is gone. What was rejected so is not stored,
 * unless the database was lost, or took too long, before it could say; rejected otherwise, it never is.
 */
export interface Store {
  /** At most `limit` animals, by ascending id. */
  listAnimals(page: Page): Promise<Animal[]>

  /** The same animals, rendered. */
  renderPage(page: Page): Promise<RenderedPage>

  /**
   * A mark that is another one once anything that can be read may have changed, whoever changed it; undefined where
   * that cannot be told for less than to read again.
   */
  revision(): string | undefined

  /** The animal with this id as JSON, or undefined. */
  renderAnimal(id: bigint): Promise<string | undefined>

  /**
   * Stores the animals in one transaction, with ids of their own that grow, and resolves once that is on disk,
   * one outcome for each in the same order. A creation whose idempotency key was used in the same scope within
   * IDEMPOTENCY_WINDOW_MS stores nothing: it is `replayed`, or `key_reused` where the animals differ.
   */
  createAnimals(creations: readonly Creation[]): Promise<Outcome[]>

  /** Forgets at most `atMost` idempotency keys whose window has passed; returns how many. */
  forgetIdempotencyKeys(atMost: number): Promise<number>

  /** The key with this digest, in force or not, or undefined. */
  findKey(digest: string): Promise<ApiKey | undefined>

  /** All keys of the environment, oldest first. */
  listKeys(environment: Environment): Promise<ApiKey[]>

  createKey(key: ApiKey): Promise<void>

  /** Stores the key only if its environment has none, not even one revoked; returns whether it did. */
  createFirstKey(key: ApiKey): Promise<boolean>

  /** Revokes the key; one revoked before keeps its time. Returns it as it now is, or undefined if there is none. */
  revokeKey(id: string, environment: Environment, at: Date): Promise<ApiKey | undefined>

  /**
   * In one transaction: stores the successor and lets the old key expire at `expiresAt`, or earlier if it would.
   * Where the old key is unknown or no longer in force it does nothing; returns whether it did.
   */
  rotateKey(id: string, successor: ApiKey, expiresAt: Date): Promise<boolean>

  /** Resolves if the database answers, and is not known to be read-only. */
  ping(): Promise<void>

  close(): Promise<void>
}
