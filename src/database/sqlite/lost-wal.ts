// Saves what can be saved when the write-ahead log (WAL) of an open database was removed, replaced, truncated or overwritten.

import { closeSync, constants, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { checkpoint } from './checkpoint.ts'
import { fileIdentity, indexPath, walPath } from './files.ts'
import { DatabaseLocked } from './result-codes.ts'
import type { Wal } from './wal.ts'

/**
 * If the WAL or its index was removed or replaced, writes the contents of the WAL to the database file: SQLite still
 * has both files open. Does nothing if the WAL was truncated or overwritten, because SQLite can no longer read all of it.
 */
export function rescueWal(database: DatabaseSync, path: string, wal: Wal): void {
  const isWalGone = fileIdentity(walPath(path)) !== wal.identity
  const isIndexGone = fileIdentity(indexPath(path)) !== wal.indexIdentity
  if (!isWalGone && !isIndexGone) return
  const dataVersion = database.prepare('pragma data_version')
  const before = dataVersion.get()?.data_version
  // A WAL that is still in place is not truncated: another process may use it already, with a new index.
  if (!checkpoint(database, isWalGone ? 'truncate' : 'full'))
    throw new DatabaseLocked('readers still use the write-ahead log')
  // The index contains the locks. Without it, nothing would stop other processes from using the new WAL.
  if (isIndexGone) return
  database.exec('begin immediate')
  try {
    // The file that took the WAL's place is emptied, because SQLite would apply it to the database after a crash. It is
    // kept if another process has written meanwhile, because it contains those changes.
    if (dataVersion.get()?.data_version === before) emptyFile(walPath(path))
  } finally {
    database.exec('rollback')
  }
}

/**
 * The connection that closes last copies the WAL to the database file. From a damaged WAL it would copy some pages of a
 * transaction and not the others. A read-only connection never copies, so such a connection closes last here.
 */
export function closeWithoutCheckpoint(database: DatabaseSync, path: string): void {
  let last: DatabaseSync | undefined
  try {
    last = new DatabaseSync(path, { readOnly: true })
    last.prepare('select 1 from sqlite_schema').get()
  } catch {
    // The WAL cannot be read, but the file is locked now.
  }
  database.close()
  last?.close()
}

function emptyFile(path: string): void {
  try {
    closeSync(openSync(path, constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
