// A connection to a database file that may be moved, deleted or replaced while the service runs.

import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { UnusableDatabase } from '../../store.ts'
import { createCheckpoint } from './checkpoint.ts'
import { lockDeadline, retryWhileLocked } from './lock-retry.ts'
import { fileIdentity, type OpenOptions, openDatabase, walPath } from './open.ts'
import { createReadTransaction } from './read-transaction.ts'
import { prepareExact } from './statements.ts'

/** How often an idle connection checks whether its file was moved. If so, it closes. */
const FILE_CHECK_INTERVAL_MS = 500

export interface Connection<Statements> {
  /** Runs a step that only reads. Rejects with `unavailable` while the database cannot be used, like `write`. */
  read<Result>(step: (statements: Statements) => Result): Promise<Result>
  /** Runs a step in its own transaction, after earlier writes. Resolves once the changes are on disk. */
  write<Result>(step: (statements: Statements) => Result): Promise<Result>
  /** Changes with every change by another connection, in this process or another. Undefined if that is unknown. */
  revision(): string | undefined
  /** Makes the next read see the newest changes, even in this event-loop turn. */
  refresh(): void
  close(): void
}

export function connect<Statements>(
  path: string,
  options: OpenOptions,
  prepare: (database: DatabaseSync) => Statements,
): Connection<Statements> {
  let sessionCount = 0
  let session = openSession(options)
  let lastWrite: Promise<unknown> = Promise.resolve()
  const readTransaction = createReadTransaction(currentSession)
  const checkpoint = createCheckpoint(path)
  const fileCheck = setInterval(closeIfMoved, FILE_CHECK_INTERVAL_MS).unref()

  function openSession(openOptions: OpenOptions) {
    const database = openDatabase(path, openOptions)
    try {
      sessionCount++
      return {
        database,
        statements: prepare(database),
        dataVersion: database.prepare('pragma data_version'),
        begin: prepareExact(database, 'begin'),
        commit: prepareExact(database, 'commit'),
        file: fileIdentity(path),
        wal: fileIdentity(walPath(path)),
      }
    } catch (error) {
      database.close()
      throw new UnusableDatabase(`The database ${path} lacks tables of its schema.`, {
        cause: error,
      })
    }
  }

  // SQLite goes on writing to a file that was moved or deleted, and those animals would be lost. So the path is checked
  // before each use (2 µs), and if it leads to another file, such as a restored backup, that one is opened.
  function currentSession() {
    const file = fileIdentity(path)
    if (file === undefined) throw new UnusableDatabase(`The database ${path} no longer exists.`)
    if (file !== session.file || !session.database.isOpen) session = reopen(file)
    return session
  }

  // SQLite finds the WAL by its name. It would apply the old file's WAL to the new file, and corrupt the new file. The
  // WAL may hold the newest animals of the old file, so we must not delete it: SQLite does when the last connection
  // closes.
  function reopen(file: string) {
    const { wal } = session
    if (session.database.isOpen) session.database.close()
    if (file !== session.file && wal !== undefined && fileIdentity(walPath(path)) === wal) {
      throw new UnusableDatabase(
        `The database ${path} was replaced, but ${walPath(path)} still belongs to the old one.`,
      )
    }
    // The writer skips the integrity check, but not for a file that no other connection has checked.
    return openSession({ create: false, isWriter: file === session.file && options.isWriter === true })
  }

  function closeIfMoved(): void {
    if (session.database.isOpen && fileIdentity(path) !== session.file) session.database.close()
  }

  /** Runs in the turn after a write, when its caller has been answered. A failed checkpoint fails no request. */
  async function runCheckpoint(): Promise<void> {
    try {
      if (!checkpoint.isDue()) return
      await nextTurn()
      if (session.database.isOpen) checkpoint.run(session.database)
    } catch {
      // The next write opens the file again.
      if (session.database.isOpen) session.database.close()
    }
  }

  return {
    read(step) {
      try {
        return Promise.resolve(step(readTransaction.current().session.statements))
      } catch {
        readTransaction.end()
        return retryWhileLocked(() => step(currentSession().statements))
      }
    },

    // Writes run one after the other: several that wait for a lock would only block each other.
    write(step) {
      const deadline = lockDeadline()
      const attempt = () => {
        readTransaction.end()
        const { database, statements } = currentSession()
        return inTransaction(database, () => step(statements))
      }
      const written = lastWrite.then(() => retryWhileLocked(attempt, deadline))
      lastWrite = written.then(runCheckpoint, () => {})
      return written
    },

    revision() {
      try {
        const turn = readTransaction.current()
        turn.revision ??= `${sessionCount}:${turn.session.dataVersion.get()?.data_version}`
        return turn.revision
      } catch {
        return undefined
      }
    },

    refresh: readTransaction.end,

    close() {
      clearInterval(fileCheck)
      readTransaction.end()
      if (session.database.isOpen) session.database.close()
    },
  }
}

function inTransaction<Result>(database: DatabaseSync, step: () => Result): Result {
  database.exec('begin immediate')
  try {
    const result = step()
    database.exec('commit')
    return result
  } catch (error) {
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}
