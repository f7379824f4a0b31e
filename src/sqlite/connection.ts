// A connection that survives its file being taken away, and says `unavailable` whenever SQLite cannot serve.

import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { unavailable } from '../error.ts'
import { UnusableDatabase } from '../store.ts'
import { fileAt, logOf, MEMORY, type OpenOptions, openDatabase, sizeOf } from './open.ts'

const WAIT_MS = 2_000
/** Shorter than most batches of others take, so that processes that write to one file take turns. */
const RETRY_MS = 2

/**
 * SQLite begins its log anew whenever all of it was copied to the file and nobody reads from it. Where there is always
 * a reader who has not seen the last change that never comes, and the log would grow for ever: from this size on, the
 * readers are waited for.
 */
export const LONG_LOG_BYTES = 16 * 1024 * 1024
const READERS_WAIT_MS = 100
/** Where someone reads for longer than that, they are not waited for again before this has passed. */
const LONG_LOG_PAUSE_MS = 2_000

/** A file that was moved away is let go within this time, even if nobody asks for it. */
const LET_GO_MS = 500

// https://www.sqlite.org/rescode.html. Not among them: SQLITE_ERROR, CONSTRAINT, MISMATCH, MISUSE, which are our bugs.
const LOCKED = { busy: 5, locked: 6 }
const UNAVAILABLE = {
  ...LOCKED,
  nomem: 7,
  readonly: 8,
  interrupt: 9,
  ioerr: 10,
  corrupt: 11,
  full: 13,
  cantopen: 14,
  protocol: 15,
  notadb: 26,
}

export interface Connection<Statements> {
  /** Runs a reading step. */
  read<Result>(step: (statements: Statements) => Result): Promise<Result>
  /** Runs a step in a transaction of its own, after those before it; resolves once it is on disk. */
  write<Result>(step: (statements: Statements) => Result): Promise<Result>
  /**
   * A mark that is another one after every change by another connection, in this process or not; undefined where it
   * cannot be told. Changes by this connection do not count.
   */
  revision(): string | undefined
  /** What is read from now on is read anew, in this turn of the event loop too. */
  refresh(): void
  close(): void
}

export function connect<Statements>(
  path: string,
  options: OpenOptions,
  prepare: (database: DatabaseSync) => Statements,
): Connection<Statements> {
  let sessions = 0
  let session = openSession(options)
  let turn: { readonly session: typeof session; revision: string | undefined } | undefined
  let lastWrite: Promise<unknown> = Promise.resolve()
  let waitAgainAt = 0
  const noticing = setInterval(letGo, LET_GO_MS).unref()

  function openSession(how: OpenOptions) {
    const database = openDatabase(path, how)
    try {
      sessions++
      return {
        database,
        statements: prepare(database),
        version: database.prepare('pragma data_version'),
        begin: database.prepare('begin'),
        end: database.prepare('commit'),
        file: fileAt(path),
        log: fileAt(logOf(path)),
      }
    } catch (error) {
      database.close()
      throw new UnusableDatabase(`The database ${path} does not have the tables it should have.`, {
        cause: error,
      })
    }
  }

  // An open file can be moved or deleted under SQLite, which would go on writing to it: those animals would be
  // lost. So its name is looked up each time (2 µs), and another file there, a restored backup, is opened instead.
  function current() {
    const file = fileAt(path)
    if (file === undefined) throw new UnusableDatabase(`The database ${path} is gone.`)
    if (file !== session.file || !session.database.isOpen) session = replace(file)
    return session
  }

  // SQLite finds a log by its name: the old file's would be taken for the new one's, and ruin it. It may hold the
  // newest animals of the old file, so it is not ours to remove: SQLite does, when the last connection lets go.
  function replace(file: string) {
    const { log } = session
    if (session.database.isOpen) session.database.close()
    if (file !== session.file && log !== undefined && fileAt(logOf(path)) === log) {
      throw new UnusableDatabase(
        `The database ${path} was replaced, but ${logOf(path)} still belongs to the old one.`,
      )
    }
    // Nobody has judged another file yet.
    return openSession({ create: false, isWriter: file === session.file && options.isWriter === true })
  }

  function letGo(): void {
    if (session.database.isOpen && fileAt(path) !== session.file) session.database.close()
  }

  /**
   * All that is read in one turn of the event loop is read in one transaction: to look at the file, and to lock it and
   * let it go, takes as long as to read an animal (docs/decisions/kept-pages.md).
   */
  function inTurn() {
    if (turn === undefined) {
      const opened = current()
      opened.begin.run()
      turn = { session: opened, revision: undefined }
      setImmediate(endTurn)
    }
    return turn
  }

  function endTurn(): void {
    if (turn === undefined) return
    const { database, end } = turn.session
    turn = undefined
    try {
      if (database.isOpen && database.isTransaction) end.run()
    } catch {
      // Whoever reads next opens it again.
      database.close()
    }
  }

  function isLogLong(): boolean {
    return path !== MEMORY && performance.now() >= waitAgainAt && sizeOf(logOf(path)) >= LONG_LOG_BYTES
  }

  function shortenLog(): void {
    const { database } = session
    if (!database.isOpen) return
    database.exec(`pragma busy_timeout = ${READERS_WAIT_MS}`)
    const outcome = database.prepare('pragma wal_checkpoint(truncate)').get()
    database.exec('pragma busy_timeout = 0')
    if (outcome?.busy !== 0) waitAgainAt = performance.now() + LONG_LOG_PAUSE_MS
  }

  /** In the next turn, when whoever wrote last has been told. That a log stays long is nobody's failure. */
  async function tidyUp(): Promise<void> {
    try {
      if (!isLogLong()) return
      await nextTurn()
      shortenLog()
    } catch {
      // Whoever writes next opens it again.
      if (session.database.isOpen) session.database.close()
    }
  }

  return {
    read(step) {
      try {
        return Promise.resolve(step(inTurn().session.statements))
      } catch {
        endTurn()
        return patiently(() => step(current().statements))
      }
    },

    // One after the other: many that wait for a lock would only be in each other's way.
    write(step) {
      const deadline = performance.now() + WAIT_MS
      const attempt = () => {
        endTurn()
        const { database, statements } = current()
        return transact(database, () => step(statements))
      }
      const written = lastWrite.then(() => patiently(attempt, deadline))
      lastWrite = written.then(tidyUp, () => {})
      return written
    },

    revision() {
      try {
        const reading = inTurn()
        reading.revision ??= `${sessions}:${reading.session.version.get()?.data_version}`
        return reading.revision
      } catch {
        return undefined
      }
    },

    refresh: endTurn,

    close() {
      clearInterval(noticing)
      endTurn()
      if (session.database.isOpen) session.database.close()
    },
  }
}

/** Waits for locks that others hold, without blocking this thread. */
async function patiently<Result>(
  attempt: () => Result,
  deadline = performance.now() + WAIT_MS,
): Promise<Result> {
  for (;;) {
    try {
      return attempt()
    } catch (error) {
      if (!hasCode(error, LOCKED) || performance.now() > deadline) throw asServiceError(error)
      await delay(RETRY_MS)
    }
  }
}

function transact<Result>(database: DatabaseSync, step: () => Result): Result {
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

function asServiceError(error: unknown): unknown {
  const isAway = error instanceof UnusableDatabase || hasCode(error, UNAVAILABLE)
  return isAway ? unavailable(error) : error
}

/** SQLite's extended codes carry the primary one in their lowest byte. */
function hasCode(error: unknown, codes: Readonly<Record<string, number>>): boolean {
  const isOurs = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
  return isOurs && Object.values(codes).includes((error.errcode as number) & 0xff)
}
