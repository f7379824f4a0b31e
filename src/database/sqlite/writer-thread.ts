// The writer thread: it has its own connection, runs one write after the other, and keeps the write-ahead log (WAL) short.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { isUnavailable, unavailable } from '../../error.ts'
import { openSecondConnection, truncateWal } from './connection.ts'
import { fileStats, findLost, MAX_WAL_BYTES, type OpenedFiles } from './files.ts'
import { lockDeadline, retryWhileLocked } from './locks.ts'
import { type OpenDatabase, runTransaction, type TransactionName } from './statements.ts'

interface WriteRequest {
  readonly id: number
  readonly name: TransactionName
  readonly args: readonly unknown[]
}

export type WriterCommand = WriteRequest | 'close'

/** Messages between threads lose the class of an error. So the parts of an `unavailable` error are sent. */
export type WriteResult = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly isUnavailable: boolean; readonly isNothingStored?: boolean; readonly error: unknown }
)

/** The result of a write, or what an operator must know. */
export type WriterMessage = WriteResult | { readonly warning: string }

/** The pause after a checkpoint that timed out, because a reader took longer. */
const CHECKPOINT_PAUSE_MS = 2_000

const files = workerData as OpenedFiles
let connection: OpenDatabase | undefined
let isWalStuck = false
let checkpointPausedUntil = 0
let queue: Promise<void> = Promise.resolve()

parentPort?.on('message', (command: WriterCommand) => {
  if (command === 'close') return enqueue(close)
  // The time-out starts when the write arrives, so writes that wait for the same lock time out together.
  const deadline = lockDeadline()
  enqueue(() => answer(command, deadline))
})
// Opens the file now, because later there may be no file descriptor left. If that fails, the first write tries again.
enqueue(() => retryWhileLocked(connect).then(ignore, ignore))

/** Commands run one after the other: several writes that wait for a lock would only block each other. */
function enqueue(command: () => void | Promise<void>): void {
  queue = queue.then(command)
}

function send(message: WriterMessage): void {
  parentPort?.postMessage(message)
}

function connect(): OpenDatabase {
  if (connection === undefined) {
    // SQLite would create a file that is missing.
    if (findLost(files).length > 0) throw unavailable()
    connection = openSecondConnection(files.database.path)
  }
  return connection
}

async function answer({ id, name, args }: WriteRequest, deadline: number): Promise<void> {
  try {
    send({ id, value: await retryWhileLocked(() => runTransaction(connect(), name, args), deadline) })
  } catch (error) {
    if (isUnavailable(error))
      send({ id, isUnavailable: true, isNothingStored: error.isNothingStored, error: error.cause })
    else send({ id, isUnavailable: false, error })
  }
  await keepWalShort()
}

/**
 * SQLite copies the WAL to the database by itself after every 1,000 pages, but under constant reads it may never restart the
 * WAL. Runs in the turn after a write, when its caller has been answered. A failed checkpoint fails no request.
 */
async function keepWalShort(): Promise<void> {
  const bytes = fileStats(files.wal.path)?.size ?? 0
  if (bytes < MAX_WAL_BYTES) return noteCheckpoint(undefined)
  if (performance.now() < checkpointPausedUntil) return
  await nextTurn()
  noteCheckpoint(tryCheckpoint())
}

/** Tells the operator once when the WAL cannot be truncated, and once when it was, by this process or another. */
function noteCheckpoint(problem: string | undefined): void {
  if (problem !== undefined) checkpointPausedUntil = performance.now() + CHECKPOINT_PAUSE_MS
  const isStuck = problem !== undefined
  if (isStuck === isWalStuck) return
  isWalStuck = isStuck
  const warning = isStuck ? `grows and cannot be truncated: ${problem}` : 'was truncated'
  send({ warning: `${files.wal.path} ${warning}.` })
}

/** Returns why it did not work, if it did not. */
function tryCheckpoint(): string | undefined {
  try {
    const isDone = connection === undefined || truncateWal(connection.database)
    return isDone ? undefined : 'a reader has a long transaction'
  } catch (error) {
    return (error as Error).message
  }
}

function close(): void {
  connection?.database.close()
  parentPort?.close()
}

function ignore(): void {}
