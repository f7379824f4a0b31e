// Runs write transactions on a file that may be moved, deleted or replaced while the service runs, and whose write-ahead
// log (WAL) may be removed, truncated or overwritten. A write is reported as stored only if both files are in place, and SQLite
// would find it in the WAL after a crash.

import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { UnusableDatabase } from '../../store.ts'
import { copyChange, copyWal, createCheckpoint } from './checkpoint.ts'
import { fileIdentity, MEMORY, walPath } from './files.ts'
import { createLastFile } from './last-file.ts'
import { lockDeadline, retryWhileLocked } from './lock-retry.ts'
import type { LockState } from './lock-state.ts'
import { rescueWal } from './lost-wal.ts'
import { DatabaseLocked, isBroken, isLocked, isLockTimeout } from './result-codes.ts'
import { closeSession, openSession, type Session } from './session.ts'
import type { Statements } from './statements.ts'
import { createStuckLocks, grantsLocks } from './stuck-locks.ts'
import { isStored, isVeryLong, isWalIntact } from './wal.ts'

/** Also how long the read lock may be out of date after another process has written. */
const CHECK_INTERVAL_MS = 200

export interface WriteTransactions {
  /** Runs a step in its own transaction, after earlier writes. Resolves once the changes are on disk. */
  write<Result>(step: (statements: Statements) => Result): Promise<Result>
  /** The same for a rare change, which is then also written from the WAL to the database file. */
  writeThrough<Result>(step: (statements: Statements) => Result): Promise<Result>
  /** Opens the file that the path leads to, if necessary, and reads from it. Returns its identity. */
  prepareFile(): Promise<string | undefined>
  /** Tells that the reader has closed its connection. The connections of this thread close too, if they are open. */
  onReaderClosed(): void
  close(): void
}

export interface WriteOptions {
  /** The identity of the file that was checked at the start. Another file is checked before it is used. */
  readonly checkedFile: string | undefined
  /** Where to tell the main thread what this one has locked. */
  readonly lockState?: LockState | undefined
  /** The session of the reader, for a database in memory, which belongs to one connection. */
  readonly shared?: Session
  /** Called before each write. */
  readonly beforeWrite?: () => void
  /** Called when all connections must be closed, that of the reader too. */
  readonly onReleased?: () => void
}

export function createWriteTransactions(path: string, options: WriteOptions): WriteTransactions {
  const { lockState } = options
  let session = options.shared
  const lastFile = createLastFile(path, options.checkedFile)
  let isWaitingForReader = false
  let lastWrite: Promise<unknown> = Promise.resolve()
  const checkpoint = createCheckpoint(path)
  const stuckLocks = createStuckLocks()
  const fileCheck = setInterval(checkFiles, CHECK_INTERVAL_MS).unref()

  // SQLite goes on writing to a file that was moved or deleted, and those animals would be lost. So the path is checked
  // before each write (2 µs), and if it leads to another file, such as a restored backup, that one is opened.
  function currentSession(): Session {
    if (isWaitingForReader)
      throw new DatabaseLocked('all connections must be closed, and the reader still has one')
    const file = fileIdentity(path)
    if (file === undefined) throw new UnusableDatabase(`The database ${path} no longer exists.`)
    if (session !== undefined && session.file !== file) closeCurrent(session)
    session ??= openFile(file)
    return session
  }

  function openFile(file: string): Session {
    const opened = openOrRelease(lastFile.isSame(file))
    lastFile.onOpened(opened)
    if (!isWalIntact(opened.wal)) release(opened)
    return opened
  }

  function openOrRelease(isChecked: boolean): Session {
    try {
      return openSession(path, { create: false, isChecked, isWriter: true, lockState, lockTimeoutMs: 0 })
    } catch (error) {
      if (isBroken((error as Error).cause)) releaseReader()
      throw error
    }
  }

  function release(current: Session): never {
    closeCurrent(current)
    releaseReader()
    throw new DatabaseLocked('the write-ahead log is gone or damaged')
  }

  /**
   * SQLite rebuilds its view of a WAL and of its locks only after all connections of the process are closed. If the WAL is
   * gone, other processes do the same when they notice.
   */
  function releaseReader(): void {
    isWaitingForReader = true
    options.onReleased?.()
  }

  function closeCurrent(current: Session): void {
    session = undefined
    closeSession(current, path)
  }

  /** If the WAL is gone, saves its contents as far as SQLite still has them, and closes the file. */
  function checkWal(current: Session): void {
    if (path === MEMORY || isWalIntact(current.wal)) return
    // A lock that the system does not release now would keep the WAL from ever being saved.
    if (current.readLock?.canLock() === false) throw new DatabaseLocked('the system refuses file locks')
    try {
      current.readLock?.release()
      rescueWal(current.database, path, current.wal)
    } catch (error) {
      if (isLocked(error) || isLockTimeout(error)) throw error
      // What cannot be read is lost. The rest is still in the database file.
    }
    release(current)
  }

  function writeOnce<Result>(step: (statements: Statements) => Result): Result {
    options.beforeWrite?.()
    const current = currentSession()
    checkWal(current)
    const { database, statements, wal, readLock } = current
    // An older lock would keep this write from restarting the WAL.
    readLock?.renewIfChanged()
    const result = inTransaction(database, () => {
      const stepResult = step(statements)
      // Checked within the transaction, where no other process can write or restart the WAL.
      if (path !== MEMORY && !wal.isInPlace()) throw new DatabaseLocked('the write-ahead log is gone')
      return stepResult
    })
    readLock?.renew()
    // Somebody may have removed or truncated the WAL after that, while SQLite wrote to it.
    if (path !== MEMORY && !isStored(wal)) {
      throw new UnusableDatabase(
        `${walPath(path)} was removed, truncated or overwritten while a change was being stored.`,
      )
    }
    return result
  }

  /** Closes all connections if a lock is stuck. A process that does not write sees only these two signs of it. */
  function closeIfStuck(current: Session): void {
    if (isVeryLong(current.wal.size) || current.readLock?.isRefused()) stuckLocks.suspect()
    if (stuckLocks.shouldTestLocks() && grantsLocks(current)) stuckLocks.onGranted()
    if (stuckLocks.takeDecision()) releaseReader()
  }

  function onFailed(error: unknown): void {
    if (!isLockTimeout((error as Error).cause)) return
    stuckLocks.suspect()
    // Not only at the next interval: if many commands wait for a stuck lock, each blocks this thread for 10 seconds.
    try {
      if (session !== undefined) closeIfStuck(session)
    } catch {
      // The next check tries again.
    }
  }

  /** Runs at intervals, because there may be no writes for a long time. The next write reports errors. */
  function checkFiles(): void {
    try {
      if (session !== undefined && fileIdentity(path) !== session.file) closeCurrent(session)
      else if (session !== undefined) {
        checkWal(session)
        if (session.readLock?.check()) stuckLocks.onGranted()
        if (session.readLock?.isGivenUp()) copyWal(session)
        closeIfStuck(session)
      }
    } catch {
      // The next write or check tries again.
    }
  }

  function onWritten(): Promise<void> {
    stuckLocks.onGranted()
    return runCheckpoint()
  }

  /** Runs in the turn after a write, when its caller has been answered. A failed checkpoint fails no request. */
  async function runCheckpoint(): Promise<void> {
    try {
      if (session === undefined || !checkpoint.isDue(session)) return
      await nextTurn()
      if (session !== undefined && !checkpoint.run(session)) stuckLocks.suspect()
    } catch {
      // The next write opens the file again.
      if (session !== undefined) closeCurrent(session)
    }
  }

  /** Writes run one after the other: several that wait for a lock would only block each other. */
  function write<Result>(step: (statements: Statements) => Result): Promise<Result> {
    const deadline = lockDeadline()
    const written = lastWrite.then(() => retryWhileLocked(() => writeOnce(step), deadline))
    lastWrite = written.then(onWritten, onFailed)
    return written
  }

  return {
    write,

    async writeThrough(step) {
      const result = await write(step)
      await copyChange(() => session)
      return result
    },

    async prepareFile() {
      try {
        return await retryWhileLocked(() => {
          const current = currentSession()
          checkWal(current)
          // The reader must never block. So whatever may block is tried here first.
          current.statements.ping.get()
          current.readLock?.check()
          return current.file
        })
      } catch (error) {
        onFailed(error)
        throw error
      }
    },

    onReaderClosed() {
      isWaitingForReader = false
      if (session !== undefined) closeCurrent(session)
    },

    close() {
      clearInterval(fileCheck)
      if (session !== undefined && session !== options.shared) closeCurrent(session)
      lastFile.close()
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
