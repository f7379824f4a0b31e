// The writer thread: it has its own connection, and runs one write after the other. A write is acknowledged only if the
// database and its write-ahead log (WAL) are the files that were opened: SQLite goes on writing to files that were removed.

import { renameSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { isUnavailable, unavailable } from '../../error.ts'
import { openSecondConnection } from './connection.ts'
import { lockDeadline, retryWhileLocked } from './errors.ts'
import { fileStats, lostFile, MAX_WAL_BYTES, type OpenedFiles } from './files.ts'
import { type Connection, runWrite, type WriteName } from './statements.ts'

interface WriteRequest {
  readonly id: number
  readonly name: WriteName
  readonly args: readonly unknown[]
}

export type WriterCommand = WriteRequest | 'close'

/** Messages between threads lose the class of an error. So the parts of an `unavailable` error are sent. */
type WriteResult = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly isUnavailable: boolean; readonly isNothingStored?: boolean; readonly error: unknown }
)

/** What an operator must know: sent when it begins, and without a message when it ends. */
export interface Problem {
  readonly name: 'database' | 'wal' | 'checkpoint'
  readonly problem: string | undefined
}

/** To the main thread. `started` is the first. */
export type WriterMessage = 'started' | WriteResult | Problem

const FILE_CHECK_INTERVAL_MS = 1_000

/** How often a lost WAL is saved when the service stops, if other processes read. Each attempt waits for them for 0.1 s. */
const SAVE_ATTEMPTS = 15

/** How long a checkpoint waits for readers. */
const READERS_TIMEOUT_MS = 100

/** The pause after a checkpoint that timed out, because a reader took longer. */
const CHECKPOINT_PAUSE_MS = 2_000

const { database, wal } = workerData as OpenedFiles
const problems = new Map<Problem['name'], string | undefined>()
let connection: Connection | undefined
/** Whether the contents of a lost WAL are in the database. */
let isWalSaved = false
let walBytes = 0
let checkpointPausedUntil = 0
let queue: Promise<void> = Promise.resolve()

parentPort?.on('message', (command: WriterCommand) => {
  if (command === 'close') return enqueue(close)
  // The time-out starts when the write arrives, so writes that wait for the same lock time out together.
  const deadline = lockDeadline()
  enqueue(() => answer(command, deadline))
})
const fileCheck = setInterval(() => enqueue(checkFiles), FILE_CHECK_INTERVAL_MS).unref()
enqueue(start)

/** Commands run one after the other: several writes that wait for a lock would only block each other. */
function enqueue(command: () => void | Promise<void>): void {
  queue = queue.then(command)
}

function send(message: WriterMessage): void {
  parentPort?.postMessage(message)
}

function setProblem(name: Problem['name'], problem: string | undefined): void {
  if (problems.get(name) === problem) return
  problems.set(name, problem)
  send({ name, problem })
}

/** Opens the file now, because later there may be no file descriptor left. If that fails, the first write tries again. */
async function start(): Promise<void> {
  await retryWhileLocked(connect).catch(() => {})
  send('started')
}

function connect(): Connection {
  if (connection === undefined) {
    // SQLite would create a WAL that is missing.
    requireFiles()
    connection = openSecondConnection(database.path)
  }
  return connection
}

async function answer({ id, name, args }: WriteRequest, deadline: number): Promise<void> {
  try {
    const value = await retryWhileLocked(() => write(name, args), deadline)
    send({ id, value })
  } catch (error) {
    checkFiles()
    if (isUnavailable(error))
      send({ id, isUnavailable: true, isNothingStored: error.isNothingStored, error: error.cause })
    else send({ id, isUnavailable: false, error })
  }
  await keepWalShort()
}

function write(name: WriteName, args: readonly unknown[]): unknown {
  const result = runWrite(connect(), name, args, requireFiles)
  // They may have been removed during the commit.
  requireFiles()
  return result
}

/** The error has no cause, because `checkFiles` reports the problem. */
function requireFiles(): void {
  const stats = fileStats(wal.path)
  walBytes = stats?.size ?? 0
  if (lostFile(database) ?? lostFile(wal, stats)) throw unavailable()
}

/** Tells the operator which file is missing, and saves what a missing WAL contained. */
function checkFiles(): void {
  const lostDatabase = lostFile(database)
  const found =
    lostDatabase === 'removed'
      ? `The database ${database.path} is gone.`
      : `Another file is in the place of the database ${database.path}. It is not used.`
  setProblem(
    'database',
    lostDatabase &&
      `${found} All requests get 503. Move the same file back, or stop the service, run animal-store restore FILE, and start the service. After a volume was detached, restart the service.`,
  )
  // Without the database, the WAL may just have been moved with it.
  if (lostDatabase !== undefined) return
  const lostWal = lostFile(wal)
  if (lostWal === undefined) {
    isWalSaved = false
    setProblem('wal', undefined)
  } else if (!isWalSaved) {
    setProblem('wal', `${wal.path} was ${lostWal} while the service used it. ${saveLostWal()}`)
  }
}

/**
 * Copies the WAL to the database, which SQLite can do as long as it has both open. At the next start SQLite would apply a file
 * that took its place, so that file is moved aside. Returns what the operator must know.
 */
function saveLostWal(): string {
  try {
    if (connection === undefined) throw new Error('the writer thread has not opened it')
    if (!truncateWal(connection.database)) throw new Error('another process is reading')
    const aside = moveAside(connection.database)
    isWalSaved = true
    const moved = aside === undefined ? '' : ` The file in its place is ${aside} now.`
    return `Its contents are saved in ${database.path}.${moved} No animal is added until the service is restarted, or the same file is back.`
  } catch (error) {
    return `Its contents are not saved yet (${(error as Error).message}). Do not stop the service before the log says that they are.`
  }
}

/** Copies the whole WAL and empties it. Returns false if a reader still used it when the time was up. */
function truncateWal(writer: DatabaseSync): boolean {
  writer.exec(`pragma busy_timeout = ${READERS_TIMEOUT_MS}`)
  try {
    return writer.prepare('pragma wal_checkpoint(truncate)').get()?.busy === 0
  } finally {
    writer.exec('pragma busy_timeout = 0')
  }
}

/** Returns the new name of a file that took the place of the WAL, or undefined if there is none. */
function moveAside(writer: DatabaseSync): string | undefined {
  // No other process can begin to use that file meanwhile.
  writer.exec('begin immediate')
  try {
    if (lostFile(wal) !== 'replaced') return undefined
    const aside = `${wal.path}.not-applied-${new Date().toISOString().replaceAll(/[:.-]/g, '')}`
    renameSync(wal.path, aside)
    return aside
  } finally {
    writer.exec('rollback')
  }
}

/**
 * SQLite copies the WAL to the database by itself after every 1,000 pages, but under constant reads it may never restart the
 * WAL. Runs in the turn after a write, when its caller has been answered. A failed checkpoint fails no request.
 */
async function keepWalShort(): Promise<void> {
  if (walBytes < MAX_WAL_BYTES || performance.now() < checkpointPausedUntil) return
  await nextTurn()
  let reason: string | undefined
  try {
    if (connection && !truncateWal(connection.database))
      reason = 'another process has a long read transaction'
  } catch (error) {
    reason = (error as Error).message
  }
  if (reason !== undefined) checkpointPausedUntil = performance.now() + CHECKPOINT_PAUSE_MS
  setProblem('checkpoint', reason && `${wal.path} grows and cannot be truncated: ${reason}.`)
}

/**
 * SQLite copies the WAL to the database when the last connection closes, but not if the database was moved. The WAL would be left
 * behind, and at the next start SQLite would apply it to whatever file is in its place.
 */
function close(): void {
  clearInterval(fileCheck)
  checkFiles()
  const isUnsaved = () => problems.get('wal') !== undefined && !isWalSaved
  for (let attempt = 1; attempt < SAVE_ATTEMPTS && isUnsaved(); attempt++) checkFiles()
  try {
    if (connection && lostFile(database)) truncateWal(connection.database)
  } catch {
    // The disk may be gone, too.
  }
  connection?.database.close()
  parentPort?.close()
}
