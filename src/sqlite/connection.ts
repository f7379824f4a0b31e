// A connection that survives its file being taken away, and says `unavailable` whenever SQLite cannot serve.

import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { ServiceError } from '../error.ts'
import { fileIdentity, MEMORY, type OpenOptions, openDatabase, UnusableDatabase } from './open.ts'

const WRITE_WAIT_MS = 2_000
const WRITE_RETRY_MS = 10

// https://www.sqlite.org/rescode.html. Not among them: SQLITE_ERROR, CONSTRAINT, MISMATCH, MISUSE, which are our bugs.
const BUSY = 5
const LOCKED = 6
const UNAVAILABLE = new Set([
  BUSY,
  LOCKED,
  /* nomem */ 7,
  /* readonly */ 8,
  /* interrupt */ 9,
  /* ioerr */ 10,
]).union(new Set([/* corrupt */ 11, /* full */ 13, /* cantopen */ 14, /* protocol */ 15, /* notadb */ 26]))

export interface Connection<Statements> {
  /** Runs a reading step. */
  read<Result>(step: (statements: Statements) => Result): Promise<Result>
  /** Runs a step in a transaction of its own, waiting for other writers; resolves once it is on disk. */
  write<Result>(step: (statements: Statements) => Result): Promise<Result>
  close(): void
}

export function connect<Statements>(
  path: string,
  options: OpenOptions,
  prepare: (database: DatabaseSync) => Statements,
): Connection<Statements> {
  let session = openSession(options)

  function openSession(how: OpenOptions) {
    const database = openDatabase(path, how)
    return { database, statements: prepare(database), file: identity() }
  }

  function identity(): string | undefined {
    return path === MEMORY ? MEMORY : fileIdentity(path)
  }

  // An open file can be moved or deleted under SQLite, which would go on writing to it: those animals would be
  // lost. So its name is looked up each time (2 µs), and another file there, a restored backup, is opened instead.
  function current() {
    const file = identity()
    if (file === undefined) throw new UnusableDatabase(`The database ${path} is gone.`)
    if (file !== session.file) {
      const replacement = openSession({ create: false })
      session.database.close()
      session = replacement
    }
    return session
  }

  return {
    async read(step) {
      try {
        return step(current().statements)
      } catch (error) {
        throw asServiceError(error)
      }
    },

    async write(step) {
      const deadline = performance.now() + WRITE_WAIT_MS
      for (;;) {
        try {
          const { database, statements } = current()
          return transact(database, () => step(statements))
        } catch (error) {
          if (!isLocked(error) || performance.now() > deadline) throw asServiceError(error)
          await delay(WRITE_RETRY_MS)
        }
      }
    },

    close() {
      if (session.database.isOpen) session.database.close()
    },
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

function isLocked(error: unknown): boolean {
  const code = primaryCode(error)
  return code === BUSY || code === LOCKED
}

function asServiceError(error: unknown): unknown {
  const code = primaryCode(error)
  const isAway = error instanceof UnusableDatabase || (code !== undefined && UNAVAILABLE.has(code))
  return isAway
    ? new ServiceError('unavailable', 'The catalogue cannot be reached right now. Try again shortly.', {
        cause: error,
      })
    : error
}

/** SQLite's extended codes carry the primary one in their lowest byte. */
function primaryCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode & 0xff
    : undefined
}
