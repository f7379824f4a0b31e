// Remembers the database file that was open last, to recognise another file in its place, such as a restored backup.
//
// A new file may get the inode number of a deleted one. So the old write-ahead log (WAL) stays open until another file is
// used, and its number cannot be given to another file meanwhile. The database file itself must not be kept open: closing it
// would release the locks of SQLite on it. It is recognised by the time of its creation too.

import { UnusableDatabase } from '../../store.ts'
import { fileIdentity, fileStats, walPath } from './files.ts'
import type { Session } from './session.ts'
import type { Wal } from './wal.ts'

export interface LastFile {
  /** Must be called when the path leads to no file, or to another file than the open one. */
  onMoved(): void
  /**
   * Whether this is the same file again. Throws if it is another one, and the WAL next to it is still that of the old file:
   * SQLite finds the WAL by its name, would apply it to the new file, and corrupt the new file. The WAL may contain the newest
   * animals of the old file, so it stays.
   */
  isSame(file: string): boolean
  /** Must be called with each session that was opened. Its WAL is closed here. */
  onOpened(session: Session): void
  close(): void
}

export function createLastFile(path: string, first: string | undefined): LastFile {
  let last = first
  let created = creationTime()
  let isMoved = false
  let wal: Wal | undefined

  function creationTime(): number | undefined {
    return fileStats(path)?.birthtimeMs
  }

  function hasOldWal(): boolean {
    return wal !== undefined && wal.identity === fileIdentity(walPath(path))
  }

  return {
    onMoved() {
      isMoved = true
    },

    isSame(file) {
      // Some systems report the time of the last change instead, so the time counts only if the file was away.
      const isSame = file === last && (!isMoved || creationTime() === created)
      if (!isSame && hasOldWal()) {
        throw new UnusableDatabase(
          `The database ${path} was replaced, but ${walPath(path)} still belongs to the old one.`,
        )
      }
      return isSame
    },

    onOpened(session) {
      wal?.close()
      wal = session.wal
      last = session.file
      created = creationTime()
      isMoved = false
    },

    close() {
      wal?.close()
    },
  }
}
