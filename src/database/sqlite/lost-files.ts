// A file of the database was removed, moved or replaced: nothing may be acknowledged into files that nobody can find, because SQLite
// goes on writing to them. Only a restart helps, and it finds what a crash would have left (docs/sqlite.md).

import type { DatabaseSync } from 'node:sqlite'
import { unavailable } from '../../error.ts'
import type { StoreLog } from '../../store.ts'
import { truncateWal } from './connection.ts'
import { findLost, type LostFile, type OpenedFiles } from './files.ts'
import { blockThread, LOCK_TIMEOUT_MS } from './locks.ts'

const CHECK_INTERVAL_MS = 1_000

/** A command that removes or moves several files is done with all of them after this time. */
const MOVE_MS = 100

interface FileWatch {
  /** Throws `unavailable` from the first loss on, whatever the paths lead to later. The error has no cause: the log has it. */
  throwIfLost(): void
  /** Called before SQLite is closed, which deletes files. */
  stop(): void
}

export function watchFiles(database: DatabaseSync, files: OpenedFiles, log: StoreLog): FileWatch {
  let isLost = false
  let isWatching = true

  function check(): void {
    const lost = isLost || !isWatching ? [] : findLost(files)
    if (lost.length > 0) endUse(lost)
  }

  /** Blocks the thread for a moment: no request under /v1 can be served any more. */
  function endUse(first: readonly LostFile[]): void {
    isLost = true
    process.once('exit', killProcess)
    endTransaction()
    blockThread(MOVE_MS)
    const later = findLost(files)
    const lost = later.length > 0 ? later : first
    const what = lost.map(({ path, how }) => `${path} was ${how} while it was in use`).join(', ')
    log.error(`${what}. All requests get 503 until the service is restarted. ${adviceFor(lost)}`)
  }

  function adviceFor(lost: readonly LostFile[]): string {
    const { path } = files.database
    const names = lost.map(({ file }) => file)
    if (names.includes('database'))
      return 'Stop it, put the same file and its -wal back or run animal-store restore FILE, and start it.'
    if (!names.includes('wal'))
      return `Leave ${files.wal.path} where it is: the next start finds in it what was acknowledged.`
    if (lost.some(({ how }) => how === 'replaced'))
      return 'Stop it, put the same file back if it still exists, and start it: no other file has its contents.'
    const problem = copyWal()
    return problem === undefined
      ? `Everything that it held was copied to ${path}: restart the service.`
      : `What it held could not be copied to ${path} (${problem}): put it back before the restart if it still exists.`
  }

  /** Otherwise the copy by another worker would wait for this one. */
  function endTransaction(): void {
    try {
      if (database.isTransaction) database.exec('commit')
    } catch {
      // The disk may fail, too.
    }
  }

  /** SQLite can copy a lost WAL to the database as long as it has both open. Returns why that did not work, if it did not. */
  function copyWal(): string | undefined {
    try {
      return truncateWal(database, LOCK_TIMEOUT_MS) ? undefined : 'another process is using it'
    } catch (error) {
      return (error as Error).message
    }
  }

  const timer = setInterval(check, CHECK_INTERVAL_MS).unref()
  return {
    throwIfLost() {
      check()
      if (isLost) throw unavailable()
    },

    stop() {
      clearInterval(timer)
      isWatching = false
    },
  }
}

/** At a usual end the runtime would close SQLite, which would write to the files that are left, and delete some of them. */
function killProcess(): void {
  process.kill(process.pid, 'SIGKILL')
  // The first process of a container cannot kill itself. It waits for the runtime of the container to do that.
  blockThread(Number.POSITIVE_INFINITY)
}
