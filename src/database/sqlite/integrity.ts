// Checks that an existing file is a database of ours, with a schema that this version knows, and not corrupt.

import type { DatabaseSync } from 'node:sqlite'
import { APPLICATION_ID, hasTablesOf, LATEST_SCHEMA, schemaVersion } from './migrate.ts'

/**
 * Checking every row takes about 14 ms per megabyte. In a larger file only the pages are checked, at 3 ms per
 * megabyte.
 */
const FULL_CHECK_BYTES = 8 * 1024 * 1024

/** integrity_check finds all that quick_check finds, and compares the indexes with the rows. */
type Check = 'integrity_check' | 'quick_check' | 'pages'

/**
 * Returns the problem as the end of a sentence that starts with "The database …", or undefined. An empty database is
 * fine.
 */
export function checkIntegrity(database: DatabaseSync, size: number): string | undefined {
  if (isEmpty(database)) return undefined
  const problem = checkOwner(database)
  if (problem !== undefined) return problem
  const damage = findDamage(database, size <= FULL_CHECK_BYTES ? 'quick_check' : 'pages')
  return damage && `${damage}: restore it from a backup`
}

/** Returns whether nobody has created tables, or marked the file as theirs. */
export function isEmpty(database: DatabaseSync): boolean {
  return applicationId(database) === 0 && schemaVersion(database) === 0 && hasTablesOf(0, database)
}

/** Returns the problem if another program, or a newer version of this one, has created the database. */
export function checkOwner(database: DatabaseSync): string | undefined {
  if (applicationId(database) !== APPLICATION_ID) return 'belongs to another program'
  const version = schemaVersion(database)
  if (version <= LATEST_SCHEMA) return undefined
  return `has schema ${version}, newer than ${LATEST_SCHEMA}, the newest that this version knows: install a newer version of animal-store`
}

/** Returns the problem if a table is missing or the contents are damaged. */
export function findDamage(database: DatabaseSync, check: Check): string | undefined {
  const version = schemaVersion(database)
  if (version < 1 || !hasTablesOf(version, database))
    return `says it has schema ${version}, but does not have its tables`
  const damage = check === 'pages' ? checkPages(database) : checkRows(database, check)
  return damage && `is corrupt (${damage})`
}

function applicationId(database: DatabaseSync): number {
  return Number(database.prepare('pragma application_id').get()?.application_id)
}

function checkRows(database: DatabaseSync, check: 'integrity_check' | 'quick_check'): string | undefined {
  const result = String(database.prepare(`pragma ${check}(1)`).get()?.[check])
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
