// Remembers the database file that was open last, to recognise another file in its place, such as a restored backup.
//
// A new file may get the inode number of a deleted one. So the write-ahead log (WAL) stays open until the next session begins,
// and its number cannot be given to another file meanwhile. The database file itself must not be kept open: closing it would
// release the locks of SQLite on it. It is recognised by the time of its creation too.

import { UnusableDatabase } from '../../store.ts'
import { fileIdentity, fileStats, walPath } from './files.ts'
import type { Session } from './session.ts'
import type { Wal } from './wal.ts'

export interface LastFile {
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
  let wal: Wal | undefined

  /** Some systems do not know it, and report 0 or the time of the last change. */
  function creationTime(): number | undefined {
    const stats = fileStats(path)
    return stats === undefined || stats.birthtimeMs === stats.ctimeMs ? undefined : stats.birthtimeMs
  }

  function hasOldWal(): boolean {
    return wal !== undefined && wal.identity === fileIdentity(walPath(path))
  }

  return {
    isSame(file) {
      const isSame = file === last && (created === undefined || fileStats(path)?.birthtimeMs === created)
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
    },

    close() {
      wal?.close()
    },
  }
}
