// Repairs what an older version, or another program that stores animals, has left out: search names, and the counts of the
// inventory. Blocks the thread, so only migrations and commands use it.

import type { DatabaseSync } from 'node:sqlite'
import { searchName } from '../../animal.ts'
import { INT64_MAX, INT64_MIN } from '../../int64.ts'
import type { Repairs } from '../../store.ts'
import { toInventory } from '../rows.ts'
import { LONG_LOCK_TIMEOUT_MS, waitForLocks } from './locks.ts'
import { type OpenDatabase, prepareExact, transact } from './statements.ts'

/** A transaction with so many takes the write lock for less than a tenth of a second. */
const NAMES_PER_TRANSACTION = 10_000

// A name that is not ASCII has more bytes than characters. One in ASCII may have the search name of an earlier name.
const FIND_FOLDED = `
  select id, name, search_name from animals
  where id >= ? and (search_name is not null or length(name) <> octet_length(name))
  order by id limit ${NAMES_PER_TRANSACTION}`

/** An animal that was renamed meanwhile has its search name already. */
const SET_SEARCH_NAME = 'update animals set search_name = ? where id = ? and name = ?'

/** Corrects missing and outdated search names, and returns how many. If it is interrupted, those that are corrected stay so. */
export function fillSearchNames(database: DatabaseSync, onProgress: (filled: number) => void): number {
  const find = prepareExact(database, FIND_FOLDED)
  const store = prepareExact(database, SET_SEARCH_NAME)
  let filled = 0
  for (let start = INT64_MIN; ; ) {
    const found = find.all(start) as unknown as {
      readonly id: bigint
      readonly name: string
      readonly search_name: string | null
    }[]
    const wrong = found.filter(({ name, search_name }) => search_name !== searchName(name))
    if (wrong.length > 0)
      transact(database, () => {
        for (const { id, name } of wrong) store.run(searchName(name), id, name)
      })
    filled += wrong.length
    if (wrong.length > 0) onProgress(filled)
    const last = found.at(-1)?.id ?? INT64_MAX
    if (last === INT64_MAX) return filled
    start = last + 1n
  }
}

export function repairDerivedData(
  connection: OpenDatabase,
  onProgress: (completed: number) => void,
): Repairs {
  const { database } = connection
  return waitForLocks(database, LONG_LOCK_TIMEOUT_MS, () => {
    const searchNames = fillSearchNames(database, onProgress)
    return { searchNames, corrected: transact(database, () => correctInventory(connection)) }
  })
}

/** Runs in a transaction. */
export function correctInventory({ statements }: Pick<OpenDatabase, 'statements'>): Repairs['corrected'] {
  // Otherwise each answer would count again what another program has stored.
  statements.countAdded.run()
  const [lastId, ...counts] = statements.compareInventory.get() as [bigint, ...bigint[]]
  const counted = counts.slice(0, 4)
  // Null if somebody has deleted the row of the inventory.
  const kept: readonly (bigint | null)[] = counts.slice(4)
  if (kept.join() === counted.join()) return undefined
  statements.setInventory.run(lastId, ...counted)
  return { from: toInventory(kept.map(count => count ?? 0n)), to: toInventory(counted) }
}
