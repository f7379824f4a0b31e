// Completes what an older version, or another program that stores animals, has left out: search names, and the counts of the
// inventory. Migrations and commands use it.

import type { ClientBase } from 'pg'
import { foldName } from '../../animal.ts'
import { INT64_MIN } from '../../json.ts'
import type { Completion, Warn } from '../../store.ts'
import { createMigrationProgress } from '../migration-progress.ts'
import { toInventory } from '../rows.ts'
import type { Pool } from './pool.ts'
import { runUnlimited, withSchemaLock } from './schema-lock.ts'
import * as sql from './statements.ts'

const NAMES_PER_TRANSACTION = 5_000

export async function completeAnimals(
  pool: Pool,
  warn: Warn,
  onProgress?: (completed: number) => void,
): Promise<Completion> {
  const searchNames = await fillSearchNames(pool, warn, onProgress)
  return { searchNames, corrected: await withSchemaLock(pool, warn, correctInventory) }
}

/** Fills in missing search names, and returns how many. If it is interrupted, those that are filled in stay so. */
export async function fillSearchNames(
  pool: Pool,
  warn: Warn,
  onProgress = createMigrationProgress(warn),
): Promise<number> {
  let filled = 0
  for (let start: bigint | undefined = INT64_MIN; start !== undefined; ) {
    const from: bigint = start
    // Two instances that change the same rows could deadlock, so one waits for the other.
    const ids = await withSchemaLock(pool, warn, client => fillSome(client, from))
    filled += ids.length
    start = ids.at(-1)
    if (start !== undefined) onProgress(filled)
  }
  return filled
}

/** Returns the ids of the animals whose search name was missing. */
async function fillSome(client: ClientBase, start: bigint): Promise<bigint[]> {
  const found = await runUnlimited(client, sql.FIND_WITHOUT_SEARCH_NAME, [start, NAMES_PER_TRANSACTION])
  const ids = found.map(([id]) => id as bigint)
  const names = found.map(([, name]) => foldName(name as string))
  if (ids.length > 0) await runUnlimited(client, sql.SET_SEARCH_NAMES, [ids, names])
  return ids
}

/**
 * Adds what is missing in the inventory, in a transaction with the schema lock. Creations go on: one statement sees the animals and
 * the counts at the same moment, and only the difference is added.
 */
export async function correctInventory(client: ClientBase): Promise<Completion['corrected']> {
  const [[isKept] = []] = await runUnlimited(client, sql.READ_INVENTORY)
  if (!isKept) return undefined
  const [row = []] = (await runUnlimited(client, sql.COMPARE_INVENTORY)) as bigint[][]
  const kept = row.slice(0, row.length / 2)
  const counted = row.slice(row.length / 2)
  if (kept.join() === counted.join()) return undefined
  const missing = counted.map((count, index) => count - (kept[index] as bigint))
  await client.query(sql.ADD_TO_INVENTORY, missing)
  return { from: toInventory(kept), to: toInventory(counted) }
}
