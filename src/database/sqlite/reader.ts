// The connection of the main thread, which reads. It must never block: the file may be moved, replaced or locked by another
// process while the service runs, so the writer thread opens and checks a new file first, and this connection follows.

import { UnusableDatabase } from '../../store.ts'
import { fileIdentity, MEMORY } from './files.ts'
import { lockDeadline, retryWhileLocked } from './lock-retry.ts'
import type { LockState } from './lock-state.ts'
import { createLockTest } from './lock-test.ts'
import { createReadGuard } from './read-guard.ts'
import { createReadTransaction } from './read-transaction.ts'
import { DatabaseLocked, isBroken, toServiceError } from './result-codes.ts'
import { closeSession, openSession, type Session } from './session.ts'
import type { Statements } from './statements.ts'
import { isWalIntact } from './wal.ts'

/** How often an idle connection checks whether its file was moved. If so, it closes. */
const FILE_CHECK_INTERVAL_MS = 500

/** The pause before a file that could not be read is opened again. */
const REOPEN_PAUSE_MS = 100

export interface Reader {
  /** Runs a step that only reads. Rejects with `unavailable` while the database cannot be used. */
  read<Result>(step: (statements: Statements) => Result): Promise<Result>
  /** Changes with every change by another connection, in this process or another. Undefined if that is unknown. */
  revision(): string | undefined
  /** Makes the next read see the newest changes, even in this event-loop turn. */
  refresh(): void
  /** Resolves if the write-ahead log (WAL) is in place. If not, opens the file again. */
  checkWal(): Promise<void>
  /** Closes the file. The next read opens it again. */
  release(): void
  close(): void
}

export interface ReaderOptions {
  /** What the writer thread has locked. Without it, a read may block while the system refuses locks. */
  readonly lockState?: LockState | undefined
  /** Makes the writer thread open the file, and returns the identity of that file. */
  readonly prepareFile: () => Promise<string | undefined>
  /** Called when the file, or another one in its place, was opened again. */
  readonly onReopened: () => void
}

export function createReader(
  path: string,
  first: Session,
  { lockState, prepareFile, onReopened }: ReaderOptions,
): Reader {
  const guard = lockState && createReadGuard(lockState, createLockTest(path))
  let session = first
  let sessionCount = 1
  let releaseCount = 0
  let reopening: Promise<void> | undefined
  let reopenedAt = 0
  const readTransaction = createReadTransaction(currentSession)
  const fileCheck = setInterval(closeIfMoved, FILE_CHECK_INTERVAL_MS).unref()

  // SQLite goes on reading a file that was moved or deleted. So the path is checked before each use (2 µs), and if it
  // leads to another file, such as a restored backup, that one is opened.
  function isCurrent(): boolean {
    return session.database.isOpen && fileIdentity(path) === session.file
  }

  function currentSession(): Session {
    if (!isCurrent()) throw new UnusableDatabase(`The database ${path} was moved, replaced or closed.`)
    if (guard?.canRead(session.wal) === false)
      throw new DatabaseLocked('the operating system refuses file locks')
    return session
  }

  function release(): void {
    releaseCount++
    readTransaction.end()
    closeSession(session, path)
    // The folder may be on another file system when the database is opened again.
    guard?.close()
  }

  /** Reads that wait for the file share one attempt. */
  function reopen(): Promise<void> {
    reopening ??= openAgain().finally(() => {
      reopening = undefined
    })
    return reopening
  }

  async function openAgain(): Promise<void> {
    release()
    const releases = releaseCount
    if (fileIdentity(path) === undefined) {
      throw toServiceError(new UnusableDatabase(`The database ${path} no longer exists.`))
    }
    const file = await prepareFile()
    const opened = await retryWhileLocked(() =>
      openSession(path, { create: false, isChecked: true, lockTimeoutMs: 0 }),
    )
    // If the writer thread has asked for a release meanwhile, no connection may stay open.
    if (opened.file === file && releaseCount === releases) {
      session = opened
      sessionCount++
      onReopened()
    } else closeSession(opened, path)
  }

  async function readAgain<Result>(
    step: (statements: Statements) => Result,
    cause: unknown,
  ): Promise<Result> {
    const deadline = lockDeadline()
    if (isBroken(cause)) {
      // The same file is opened again, because its WAL may have been removed. If that does not help, it is not repeated
      // for every read.
      if (performance.now() - reopenedAt < REOPEN_PAUSE_MS) throw toServiceError(cause)
      reopenedAt = performance.now()
      await reopen()
    } else if (!isCurrent()) await reopen()
    return retryWhileLocked(() => readOnce(step), deadline)
  }

  function readOnce<Result>(step: (statements: Statements) => Result): Result {
    try {
      return step(readTransaction.current().session.statements)
    } catch (error) {
      readTransaction.end()
      throw error
    }
  }

  function closeIfMoved(): void {
    if (session.database.isOpen && !isCurrent()) release()
  }

  return {
    read(step) {
      try {
        return Promise.resolve(readOnce(step))
      } catch (error) {
        return readAgain(step, error)
      }
    },

    revision() {
      try {
        const turn = readTransaction.current()
        turn.revision ??= `${sessionCount}:${turn.session.dataVersion.get()?.data_version}`
        return turn.revision
      } catch (error) {
        // If SQLite has failed, the next read must not try the same: it waits until the writer thread can read.
        if (isBroken(error)) release()
        return undefined
      }
    },

    refresh: readTransaction.end,

    async checkWal() {
      if (path === MEMORY || !isCurrent()) return
      readTransaction.end()
      if (!isWalIntact(session.wal)) await reopen()
    },

    release,

    close() {
      clearInterval(fileCheck)
      release()
    },
  }
}
