// Completes what an older version, or another program that stores animals, has left out: search names, and the counts of the
// inventory. Blocks the thread, so only migrations and commands use it.

import type { DatabaseSync } from 'node:sqlite'
import { foldName } from '../../animal.ts'
import { INT64_MIN } from '../../json.ts'
import type { Completion } from '../../store.ts'
import { toInventory } from '../rows.ts'
import { type OpenDatabase, prepareExact, transact } from './statements.ts'

/** A transaction with so many takes the write lock for less than a tenth of a second. */
const NAMES_PER_TRANSACTION = 10_000

/** How long a command waits for the write lock. The service holds it only briefly. */
const COMMAND_LOCK_TIMEOUT_MS = 60_000

// A name that is not ASCII has more bytes than characters.
const FIND_WITHOUT_SEARCH_NAME = `
  select id, name from animals
  where id >= ? and search_name is null and length(name) <> octet_length(name)
  order by id limit ${NAMES_PER_TRANSACTION}`

/** Fills in missing search names, and returns how many. If it is interrupted, those that are filled in stay so. */
export function fillSearchNames(database: DatabaseSync, onProgress: (filled: number) => void): number {
  const find = prepareExact(database, FIND_WITHOUT_SEARCH_NAME)
  const store = prepareExact(
    database,
    'update animals set search_name = ? where id = ? and search_name is null',
  )
  let filled = 0
  for (let start = INT64_MIN; ; ) {
    const found = find.all(start) as unknown as { readonly id: bigint; readonly name: string }[]
    const last = found.at(-1)
    if (last === undefined) return filled
    transact(database, () => {
      for (const { id, name } of found) store.run(foldName(name), id)
    })
    filled += found.length
    onProgress(filled)
    start = last.id
  }
}

export function completeAnimals(
  connection: OpenDatabase,
  onProgress: (completed: number) => void,
): Completion {
  const { database } = connection
  return waitForLocks(database, COMMAND_LOCK_TIMEOUT_MS, () => {
    const searchNames = fillSearchNames(database, onProgress)
    return { searchNames, corrected: correctInventory(connection) }
  })
}

/** Lets SQLite itself wait for locks within the work. That blocks the thread. */
export function waitForLocks<Result>(database: DatabaseSync, timeoutMs: number, work: () => Result): Result {
  database.exec(`pragma busy_timeout = ${timeoutMs}`)
  try {
    return work()
  } finally {
    database.exec('pragma busy_timeout = 0')
  }
}

function correctInventory({ statements }: OpenDatabase): Completion['corrected'] {
  // Otherwise each answer would count again what another program has stored.
  statements.countAdded.run()
  const [lastId, ...counts] = statements.compareInventory.get() as [bigint, ...bigint[]]
  const counted = counts.slice(0, 4)
  // Null if somebody has deleted the row of the inventory.
  const kept: readonly (bigint | null)[] = counts.slice(4)
  if (kept.join() === counted.join()) return undefined
  // Animals that were added meanwhile have larger ids, and are counted again.
  statements.setInventory.run(lastId, ...counted)
  return { from: toInventory(kept.map(count => count ?? 0n)), to: toInventory(counted) }
}
