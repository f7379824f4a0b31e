// Reads the animals of a database file that cannot be written: without permission, or on a read-only file system.

import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { type Store, UnusableDatabase } from '../../store.ts'
import { pageStart, toAnimal } from '../rows.ts'
import { LOCK_TIMEOUT_MS } from './errors.ts'
import { fileSize, isWritable, walPath } from './files.ts'
import { checkIntegrity } from './integrity.ts'
import { LIST_ANIMALS, prepareRows } from './statements.ts'

/** Returns whether the file exists, but it or its folder cannot be written. */
export function isReadOnlyFile(path: string): boolean {
  return existsSync(path) && !(isWritable(path) && isWritable(dirname(resolve(path))))
}

/** The file may have an older schema: the table of the animals never changed. A newer schema is rejected. */
export function openReadOnly(path: string): Pick<Store, 'listAnimals' | 'close'> {
  const database = open(path)
  const problem = checkIntegrity(database, fileSize(path))
  if (problem !== undefined) {
    database.close()
    throw new UnusableDatabase(`The database ${path} ${problem}.`)
  }
  const list = prepareRows(database, LIST_ANIMALS)
  return {
    async listAnimals(page) {
      const { start, limit } = pageStart(page)
      return list.all(start, limit).map(toAnimal)
    },
    async close() {
      database.close()
    },
  }
}

/**
 * SQLite needs the file -shm to read a database in WAL mode, and cannot create it in a read-only folder. If there is no
 * WAL either, nobody is writing, and the file can be read as it is.
 */
function open(path: string): DatabaseSync {
  const url = pathToFileURL(resolve(path))
  if (fileSize(walPath(path)) === 0) url.searchParams.set('immutable', '1')
  try {
    const database = new DatabaseSync(url, { readOnly: true, timeout: LOCK_TIMEOUT_MS })
    database.exec('select 1 from sqlite_schema')
    return database
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new UnusableDatabase(
      `The read-only database ${path} cannot be read: ${reason}. Copy it together with ${walPath(path)} to a folder that can be written.`,
      { cause },
    )
  }
}
