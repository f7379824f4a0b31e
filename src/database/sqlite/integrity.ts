// Checks that an existing file is a database of ours, with a schema that this version knows, and not corrupt.

import type { DatabaseSync } from 'node:sqlite'
import { APPLICATION_ID, hasTablesOf, LATEST_SCHEMA, schemaVersion } from './migrate.ts'

/**
 * Checking every row takes about 14 ms per megabyte. In a larger file only the pages are checked, at 3 ms per
 * megabyte.
 */
const FULL_CHECK_BYTES = 8 * 1024 * 1024

/**
 * Returns the problem as the end of a sentence that starts with "The database …", or undefined. An empty database is
 * fine.
 */
export function checkIntegrity(database: DatabaseSync, size: number): string | undefined {
  const version = schemaVersion(database)
  const applicationId = Number(database.prepare('pragma application_id').get()?.application_id)
  if (applicationId === 0 && version === 0 && hasTablesOf(0, database)) return undefined
  if (applicationId !== APPLICATION_ID) return 'belongs to another program'
  if (version > LATEST_SCHEMA) {
    return `has schema ${version}, newer than ${LATEST_SCHEMA}, the newest that this version of animal-store knows: start a newer one`
  }
  if (version < 1 || !hasTablesOf(version, database)) {
    return `says it has schema ${version}, but does not have its tables: restore it from a backup`
  }
  const damage = size <= FULL_CHECK_BYTES ? checkRows(database) : checkPages(database)
  return damage && `is corrupt (${damage}): restore it from a backup`
}

function checkRows(database: DatabaseSync): string | undefined {
  const result = String(database.prepare('pragma quick_check(1)').get()?.quick_check)
  if (result === 'ok') return undefined
  return result.replace(/^\*\*\* in database main \*\*\*\s*/, '').split('\n', 1)[0]
}

/** Counting reads every page of a table or an index, but does not check each row. */
function checkPages(database: DatabaseSync): string | undefined {
  try {
    for (const rows of [
      'animals not indexed',
      'animals indexed by animals_by_status where status is not null',
      'api_keys',
    ]) {
      database.prepare(`select count(*) from ${rows}`).get()
    }
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
