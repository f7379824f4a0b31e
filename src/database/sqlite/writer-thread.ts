// The writer thread: it has its own connection, and runs one write after the other. A write is acknowledged only if all files
// are the ones that were opened: SQLite goes on writing to files that were removed.
//
// | lost          | gets 503  | what happens to the animals in the -wal            | ends with                   |
// | ------------- | --------- | -------------------------------------------------- | --------------------------- |
// | database      | all       | nothing: its files may have been moved together    | the same file, or a restart |
// | -wal          | creations | they are copied into the database                  | the same file, or a restart |
// | -shm          | all       | nothing: the next start reads the -wal             | a restart                   |
// | -wal and -shm | all       | they are copied into the database, as long as the  | a restart                   |
// |               |           | process still has both files                       |                             |

import { renameSync } from 'node:fs'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { isUnavailable, unavailable } from '../../error.ts'
import { openSecondConnection, truncateWal } from './connection.ts'
import { lockDeadline, retryWhileLocked } from './errors.ts'
import {
  fileStamp,
  fileStats,
  isOpenElsewhere,
  type Lost,
  lostFile,
  MAX_WAL_BYTES,
  type OpenedFiles,
} from './files.ts'
import { type OpenDatabase, runWrite, type WriteName } from './statements.ts'

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

/** What an operator must know. */
interface LogLine {
  readonly level: 'warn' | 'error'
  readonly text: string
}

/** To the main thread. `started` is the first. */
export type WriterMessage = 'started' | 'shm lost' | WriteResult | LogLine

const FILE_CHECK_INTERVAL_MS = 1_000

/** A command that moves or removes several files is done with all of them after this time. */
const MOVE_MS = 100

/** How often a lost WAL is saved when the service stops, if other processes read. Each attempt waits for them for 0.1 s. */
const SAVE_ATTEMPTS = 15

/** The pause after a checkpoint that timed out, because a reader took longer. */
const CHECKPOINT_PAUSE_MS = 2_000

const ENDED = {
  database: 'The database file is back.',
  wal: 'The write-ahead log is back. Animals are added again.',
  checkpoint: 'The write-ahead log was truncated.',
}

const { database, wal, shm } = workerData as OpenedFiles
const problems = new Map<keyof typeof ENDED, string>()
let connection: OpenDatabase | undefined
/** Whether the contents of a lost WAL are in the database. */
let isWalSaved = false
/** From then on, also if the file is back: other processes may have written without its locks. */
let isShmLost = false
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

/** Logs a problem when it begins or changes, and when it ends. */
function setProblem(name: keyof typeof ENDED, problem: string | undefined): void {
  if (problems.get(name) === problem) return
  if (problem !== undefined) problems.set(name, problem)
  else problems.delete(name)
  const isError = problem !== undefined && name !== 'checkpoint'
  send({ level: isError ? 'error' : 'warn', text: problem ?? ENDED[name] })
}

/** Opens the file now, because later there may be no file descriptor left. If that fails, the first write tries again. */
async function start(): Promise<void> {
  await retryWhileLocked(connect).catch(() => {})
  send('started')
}

function connect(): OpenDatabase {
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
    await checkFiles()
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
  const isLost = isShmLost || [lostFile(database), lostFile(wal, stats), lostFile(shm)].some(Boolean)
  walBytes = isLost ? 0 : Number(stats?.size)
  if (isLost) throw unavailable()
}

/** Answers the loss of files, as in the table above. */
async function checkFiles(): Promise<void> {
  if (!isShmLost && lostFile(shm) && !lostFile(database)) await delay(MOVE_MS)
  const lostDatabase = lostFile(database)
  setProblem('database', lostDatabase && describeLostDatabase(lostDatabase))
  // Without the database, the other files may just have been moved with it.
  if (lostDatabase !== undefined || isShmLost) return

  const lostWal = lostFile(wal)
  const lostShm = lostFile(shm)
  if (lostWal === undefined) {
    isWalSaved = false
    setProblem('wal', undefined)
  } else if (!isWalSaved) {
    setProblem(
      'wal',
      `${wal.path} was ${lostWal} while the service used it. ${tryToSaveWal(lostShm !== undefined)}`,
    )
  }
  // A lost WAL is saved first: no other process can have written to it. One that is there is left to the next start, because
  // other processes may have written to it without locks. A checkpoint would discard that.
  if (lostShm !== undefined && (lostWal === undefined || isWalSaved)) endUseOfShm(lostShm)
}

function describeLostDatabase(lost: Lost): string {
  const found =
    lost === 'removed'
      ? `The database ${database.path} is gone.`
      : `Another file is in the place of the database ${database.path}. It is not used.`
  return `${found} All requests get 503. Move the same file back, or stop the service, run animal-store restore FILE, and start the service. After a volume was detached, restart the service.`
}

/** Returns what the operator is told. */
function tryToSaveWal(isShmGone: boolean): string {
  try {
    // Without the common locks, the database would change under a process that uses another WAL.
    if (isShmGone && isOpenElsewhere(wal.path)) throw new Error('another process uses the file in its place')
    const saved = saveWal() ? `saved in ${database.path}` : 'saved when the service stops'
    isWalSaved = true
    return `Its contents are ${saved}. No animal is added until the service is restarted, or the same file is back.`
  } catch (error) {
    return `Its contents are not saved yet (${(error as Error).message}). Do not stop the service before the log says that they are.`
  }
}

function endUseOfShm(lost: Lost): void {
  isShmLost = true
  send('shm lost')
  send({
    level: 'error',
    text: `${shm.path} was ${lost} while the service used it. SQLite's locks were in it. All requests get 503 until the service is restarted. The write-ahead log has what was acknowledged, and the next start applies it: leave ${wal.path} where it is.`,
  })
}

/**
 * Copies a lost WAL to the database, which SQLite can do as long as it has both open. At the next start SQLite would apply a file
 * that took its place, so that file is moved aside, unless another process uses it. Returns false if only the main thread has opened
 * them: then that copies the WAL when it closes the database.
 */
function saveWal(): boolean {
  if (connection === undefined) return false
  if (!truncateWal(connection.database)) throw new Error('another process is reading')
  if (lostFile(wal) !== 'replaced' || isOpenElsewhere(wal.path)) return true
  const aside = `${wal.path}.not-applied-${fileStamp(new Date())}`
  renameSync(wal.path, aside)
  send({
    level: 'warn',
    text: `The file in the place of ${wal.path} is ${aside} now. Its contents are not in the database.`,
  })
  return true
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
async function close(): Promise<void> {
  clearInterval(fileCheck)
  await checkFiles()
  const isUnsaved = () => problems.has('wal') && !isWalSaved
  for (let attempt = 1; attempt < SAVE_ATTEMPTS && isUnsaved(); attempt++) await checkFiles()
  try {
    // If the -shm is lost, nothing is copied, and this is not the last connection, so SQLite only closes it.
    if (connection && lostFile(database) && !isShmLost) truncateWal(connection.database)
    // SQLite would delete a file that came later. If a process has written to it, this fails, and SQLite leaves it, too.
    else if (isWalSaved && !isShmLost) saveWal()
  } catch {
    // The disk may be gone, too.
  }
  connection?.database.close()
  parentPort?.close()
}
