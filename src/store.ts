// The Store: everything that the service needs from a database. test/store.contract.ts tests it on every database.

import type { Animal, Inventory } from './animal.ts'
import type { ApiKey, Environment } from './api-key.ts'
import type { JsonPage, Page } from './page.ts'
import type { Outcome, Write } from './write.ts'

/** The database cannot be used as it is. The message says in one line what is wrong. */
export class UnusableDatabase extends Error {
  override name = 'UnusableDatabase'
}

/** Takes a message for the operator, at any time. */
export type Warn = (message: string) => void

/** Where a store tells the operator what happens to its database. */
export interface StoreLog {
  readonly warn: Warn
  readonly error: Warn
}

type PageAfter = Pick<Page, 'limit' | 'after'>

export interface Repairs {
  /** The number of animals that searches find by their names from now on. */
  readonly searchNames: number
  /** The counts before and after, if they were wrong. */
  readonly corrected: { readonly from: Inventory; readonly to: Inventory } | undefined
}

/**
 * Every method rejects with `unavailable` while the database is unreachable, locked by another process or read-only.
 * The store recovers once the problem is solved. After the loss of a file of SQLite, only a restart helps (docs/sqlite.md).
 *
 * A write that is rejected was not stored, with one exception: after `unavailable` it may have been stored if its
 * commit was not confirmed, for example because the connection was lost or the disk did not answer in time. If the error
 * says `isNothingStored`, it was not.
 */
export interface Store {
  /** Returns the first `limit` animals, or the first ones after an id, by ascending id. */
  listAnimals(page: PageAfter): Promise<Animal[]>

  /**
   * Returns the animals of a page as JSON, by ascending id. A search examines at most MAX_EXAMINED animals. It waits for earlier
   * searches, and rejects with `unavailable` if that takes too long.
   */
  listAnimalsAsJson(page: Page): Promise<JsonPage>

  /** Counts all animals. Where the database keeps the counts, the cost does not depend on their number. */
  countAnimals(): Promise<Inventory>

  /**
   * Returns a string that changes whenever the data may have changed, by this process or another. Undefined if finding
   * that out would cost as much as reading the data.
   */
  revision(): string | undefined

  /** Returns the animal with this id as JSON, or undefined if there is none. */
  findAnimalAsJson(id: bigint): Promise<string | undefined>

  /**
   * Runs the writes in order, and resolves once they are on disk. Returns one outcome for each. New animals get ascending ids. The
   * conditions of a change or a removal are checked in the same step as it happens. If an idempotency key was used in the same scope
   * within IDEMPOTENCY_WINDOW_MS, its write stores nothing: the outcome is `replayed` for the same request, otherwise `key_reused`.
   * Only a write that succeeds takes its key. On PostgreSQL, not all writes are in one transaction: those whose fate is unknown
   * after a failure are `unavailable`.
   */
  write(writes: readonly Write[]): Promise<Outcome[]>

  /** Deletes at most `limit` idempotency keys that are older than IDEMPOTENCY_WINDOW_MS. Returns how many. */
  deleteExpiredIdempotencyKeys(limit: number): Promise<number>

  /** Returns the key with this digest, active or not, or undefined if there is none. */
  findKey(digest: string): Promise<ApiKey | undefined>

  /** Returns all keys of the environment, oldest first. */
  listKeys(environment: Environment): Promise<ApiKey[]>

  createKey(key: ApiKey): Promise<void>

  /** Stores the key if its environment has no key, active or not. Returns whether it was stored. */
  createFirstKey(key: ApiKey): Promise<boolean>

  /**
   * Revokes the key and returns it, or undefined if there is none. A key that is already revoked keeps the time of its
   * first revocation.
   */
  revokeKey(id: string, environment: Environment, at: Date): Promise<ApiKey | undefined>

  /**
   * Stores the successor of a key, and lets the key expire at this time, unless it expires earlier. Returns whether it did: it
   * stores nothing if the key is unknown or revoked, or if a newer key of the same scope is not revoked.
   */
  rotateKey(id: string, successor: ApiKey, at: Date): Promise<boolean>

  /** Stores the day on which these keys were used, such as 2026-11-19, unless a later one is stored. */
  storeKeyUses(ids: readonly string[], day: string): Promise<void>

  /**
   * Repairs what an older version, or another program that stores animals, has left out: search names and counts. Waits
   * as long as it takes.
   */
  repairDerivedData(onProgress?: (completed: number) => void): Promise<Repairs>

  /** Resolves if requests can be served, as far as a check that writes nothing can tell. */
  ping(): Promise<void>

  close(): Promise<void>
}
