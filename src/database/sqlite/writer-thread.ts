// The writer thread: it has its own connection, and runs one write after the other. A write is acknowledged only if the
// database and its write-ahead log (WAL) are the files that were opened: SQLite goes on writing to files that were removed.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { isUnavailable, unavailable } from '../../error.ts'
import { type LostWal, MAX_WAL_BYTES, saveLostWal, truncateWal } from './checkpoint.ts'
import { openSecondConnection } from './connection.ts'
import { lockDeadline, retryWhileLocked } from './errors.ts'
import { fileStats, type Lost, lostFile, type OpenedFiles } from './files.ts'
import { type Connection, runWrite, type WriteName } from './statements.ts'

export interface WriteRequest {
  readonly id: number
  readonly name: WriteName
  readonly args: readonly unknown[]
}

export type WriterCommand = WriteRequest | 'close'

/** Messages between threads lose the class of an error. So only the cause of an `unavailable` error is sent. */
export type WriteResult = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly isUnavailable: boolean; readonly error: unknown }
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

/** The pause after a checkpoint that timed out, because a reader took longer. */
const CHECKPOINT_PAUSE_MS = 2_000

const files = workerData as OpenedFiles
const { database, wal } = files
const problems = new Map<Problem['name'], string | undefined>()
let connection: Connection | undefined
let lostWal: LostWal | undefined
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
  if (connection !== undefined) return connection
  // SQLite would create a WAL that is missing.
  requireFiles()
  const opened = openSecondConnection(database.path)
  try {
    // They may have been replaced meanwhile.
    requireFiles()
  } catch (error) {
    opened.database.close()
    throw error
  }
  connection = opened
  return opened
}

async function answer({ id, name, args }: WriteRequest, deadline: number): Promise<void> {
  try {
    const value = await retryWhileLocked(() => write(name, args), deadline)
    send({ id, value })
  } catch (error) {
    checkFiles()
    if (isUnavailable(error)) send({ id, isUnavailable: true, error: error.cause })
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
  setProblem('database', lostDatabase && databaseProblem(database.path, lostDatabase))
  // Without the database, the WAL may just have been moved with it.
  if (lostDatabase !== undefined) return
  const lost = lostFile(wal)
  if (lost === undefined) lostWal = undefined
  else if (!lostWal?.isSaved) lostWal = saveLostWal(connection?.database, files, lost)
  setProblem('wal', lostWal?.problem)
}

function databaseProblem(path: string, lost: Lost): string {
  const found =
    lost === 'removed'
      ? `The database ${path} is gone.`
      : `Another file is in the place of the database ${path}. It is not used.`
  return `${found} All requests get 503. Move the same file back, or stop the service, run animal-store restore FILE, and start the service. After a volume was detached, restart the service.`
}

/** Runs in the turn after a write, when its caller has been answered. A failed checkpoint fails no request. */
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
  for (let attempt = 1; attempt < SAVE_ATTEMPTS && lostWal?.isSaved === false; attempt++) checkFiles()
  try {
    if (connection && lostFile(database)) truncateWal(connection.database)
  } catch {
    // The disk may be gone, too.
  }
  connection?.database.close()
  parentPort?.close()
}
