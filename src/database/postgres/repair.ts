// Repairs what an older version, or another program that stores animals, has left out: search names, and the counts of the
// inventory. Migrations and commands use it.

import type { ClientBase } from 'pg'
import { searchName } from '../../animal.ts'
import { INT64_MAX, INT64_MIN } from '../../int64.ts'
import type { Repairs, Warn } from '../../store.ts'
import { createMigrationProgress } from '../migration-progress.ts'
import { toInventory } from '../rows.ts'
import type { Pool } from './pool.ts'
import { runWithoutTimeouts, withSchemaLock } from './schema-lock.ts'
import * as sql from './statements.ts'

const NAMES_PER_TRANSACTION = 5_000
const ANSWERS_PER_TRANSACTION = 1_000

export async function repairDerivedData(
  pool: Pool,
  warn: Warn,
  onProgress?: (completed: number) => void,
): Promise<Repairs> {
  const searchNames = await fillSearchNames(pool, warn, onProgress)
  return { searchNames, corrected: await withSchemaLock(pool, warn, correctInventory) }
}

/** Corrects missing and outdated search names, and returns how many. If it is interrupted, those that are corrected stay so. */
export async function fillSearchNames(
  pool: Pool,
  warn: Warn,
  onProgress = createMigrationProgress(warn),
): Promise<number> {
  let filled = 0
  for (let start: bigint | undefined = INT64_MIN; start !== undefined; ) {
    const from: bigint = start
    // Two instances that change the same rows could deadlock, so one waits for the other.
    const { corrected, next } = await withSchemaLock(pool, warn, client => fillSome(client, from))
    filled += corrected
    start = next
    if (corrected > 0) onProgress(filled)
  }
  return filled
}

/** `next` is the id to go on with, or undefined if there are no more animals to look at. */
async function fillSome(
  client: ClientBase,
  start: bigint,
): Promise<{ readonly corrected: number; readonly next: bigint | undefined }> {
  const found = (await runWithoutTimeouts(client, sql.FIND_FOLDED, [start, NAMES_PER_TRANSACTION])) as [
    bigint,
    string,
    string | null,
  ][]
  const wrong = found.filter(([, name, stored]) => stored !== searchName(name))
  const ids = wrong.map(([id]) => id)
  const names = wrong.map(([, name]) => name)
  if (wrong.length > 0)
    await runWithoutTimeouts(client, sql.SET_SEARCH_NAMES, [ids, names, names.map(searchName)])
  const last = found.at(-1)?.[0] ?? INT64_MAX
  return { corrected: wrong.length, next: last === INT64_MAX ? undefined : last + 1n }
}

/** Stores the answers of what version 1.1 has remembered, in transactions of its own. */
export async function fillAnswers(pool: Pool): Promise<void> {
  while ((await pool.transact(fillSomeAnswers)) > 0);
}

/** In three statements, because Citus refuses one that joins the keys and the animals. Returns how many rows it has filled. */
async function fillSomeAnswers(client: ClientBase): Promise<number> {
  const keys = await runWithoutTimeouts(client, sql.LOCK_UNANSWERED, [ANSWERS_PER_TRANSACTION])
  if (keys.length === 0) return 0
  const ids = keys.map(([, , id]) => id)
  const answers = new Map((await runWithoutTimeouts(client, sql.FIND_ANIMALS, [ids])) as [bigint, string][])
  await runWithoutTimeouts(client, sql.FILL_ANSWERS, [
    keys.map(([scope]) => scope),
    keys.map(([, key]) => key),
    ids.map(id => answers.get(id as bigint) ?? null),
  ])
  return keys.length
}

/**
 * Adds what is missing in the inventory, in a transaction with the schema lock. Creations go on: one statement sees the animals and
 * the counts at the same moment, and only the difference is added.
 */
export async function correctInventory(client: ClientBase): Promise<Repairs['corrected']> {
  const [[isKept] = []] = await runWithoutTimeouts(client, sql.READ_INVENTORY)
  if (!isKept) return undefined
  const [row = []] = (await runWithoutTimeouts(client, sql.COMPARE_INVENTORY)) as bigint[][]
  const kept = row.slice(0, row.length / 2)
  const counted = row.slice(row.length / 2)
  if (kept.join() === counted.join()) return undefined
  const missing = counted.map((count, index) => count - (kept[index] as bigint))
  await client.query(sql.ADD_TO_INVENTORY, missing)
  return { from: toInventory(kept), to: toInventory(counted) }
}
