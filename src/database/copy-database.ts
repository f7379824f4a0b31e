// Copies everything that a database holds into another one, of any kind. Each database can be read as a snapshot, and be filled with
// one; this file does the rest.

import { createHash, type Hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Animal } from '../animal.ts'
import { renderAnimal } from '../animal-json.ts'
import type { ApiKey } from '../api-key.ts'
import { INT64_MAX, INT64_MIN } from '../int64.ts'
import { UnusableDatabase } from '../store.ts'

/** At most 6 KB each as JSON, so that a batch is at most 12 MB. */
const BATCH_SIZE = 2_000

/**
 * A row of idempotency_keys: scope, key, animal_id, created_at, request, answer and answered_at, in this order. It is copied as it is,
 * and nobody interprets it on the way.
 */
export type IdempotencyRow = readonly (string | bigint | null)[]

interface AnimalsInOrder {
  /** Returns at most `limit` animals with an id of at least `start`, by ascending id. */
  readonly listAnimals: (start: bigint, limit: number) => Promise<Animal[]>
}

/** A database at one moment. Nobody can change it meanwhile. */
export interface Snapshot extends AnimalsInOrder {
  /** The largest id that was ever given, even if its animal was removed. 0 if there is none. */
  lastId(): Promise<bigint>
  /** Returns the keys of all environments. */
  listKeys(): Promise<ApiKey[]>
  /** Returns at most `limit` rows after this scope and key, in their order. */
  listIdempotencyKeys(scope: string, key: string, limit: number): Promise<IdempotencyRow[]>
}

/** A database without animals and keys, within a transaction. */
export interface Target extends AnimalsInOrder {
  addAnimals(animals: readonly Animal[]): Promise<void>
  addKeys(keys: readonly ApiKey[]): Promise<void>
  addIdempotencyKeys(rows: readonly IdempotencyRow[]): Promise<void>
  /** Counts the animals, and makes sure that no id up to this one is given again. */
  complete(lastId: bigint): Promise<void>
}

interface CopyOptions {
  readonly signal: AbortSignal
  /** Get the number of animals so far. */
  readonly onCopied: (animals: number) => void
  readonly onCompared: (animals: number) => void
}

interface Copied {
  readonly animals: number
  readonly keys: number
}

/** Copies everything, and compares all animals on both sides. Throws an UnusableDatabase if they differ. */
export async function copySnapshot(
  snapshot: Snapshot,
  target: Target,
  { signal, onCopied, onCompared }: CopyOptions,
): Promise<Copied> {
  const read = createTally(onCopied)
  for await (const animals of inBatches(snapshot, signal)) {
    await target.addAnimals(animals)
    read.add(animals)
  }
  const keys = await snapshot.listKeys()
  await target.addKeys(keys)
  for await (const rows of idempotencyKeysInBatches(snapshot, signal)) await target.addIdempotencyKeys(rows)
  const stored = createTally(onCompared)
  for await (const animals of inBatches(target, signal)) stored.add(animals)
  if (read.result() !== stored.result())
    throw new UnusableDatabase('The animals in the new database differ from those in the old one.')
  await target.complete(await snapshot.lastId())
  await throwIfInterrupted(signal)
  return { animals: read.count(), keys: keys.length }
}

/** Counts animals, and computes a digest of them. */
function createTally(onProgress: (animals: number) => void) {
  const digest: Hash = createHash('sha256')
  let count = 0
  return {
    add(animals: readonly Animal[]): void {
      digest.update(animals.map(animal => `${renderAnimal(animal)}\n`).join(''))
      count += animals.length
      onProgress(count)
    },
    count: () => count,
    result: () => `${count} ${digest.digest('hex')}`,
  }
}

async function* inBatches({ listAnimals }: AnimalsInOrder, signal: AbortSignal): AsyncGenerator<Animal[]> {
  for (let start = INT64_MIN; ; ) {
    await throwIfInterrupted(signal)
    const animals = await listAnimals(start, BATCH_SIZE)
    if (animals.length > 0) yield animals
    const last = animals.at(-1)?.id ?? INT64_MAX
    if (last === INT64_MAX) return
    start = last + 1n
  }
}

async function* idempotencyKeysInBatches(
  snapshot: Snapshot,
  signal: AbortSignal,
): AsyncGenerator<IdempotencyRow[]> {
  for (let [scope, key] = ['', '']; ; ) {
    await throwIfInterrupted(signal)
    const rows = await snapshot.listIdempotencyKeys(scope, key, BATCH_SIZE)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    ;[scope, key] = last as [string, string]
  }
}

/** SQLite blocks the thread, and a signal is handled only between two turns of the event loop. */
export async function throwIfInterrupted(signal: AbortSignal): Promise<void> {
  await nextTurn()
  await nextTurn()
  signal.throwIfAborted()
}
