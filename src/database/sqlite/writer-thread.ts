// The writer thread: it has its own connection, and runs one write after the other.

import { parentPort, workerData } from 'node:worker_threads'
import { isUnavailable } from '../../error.ts'
import type { LockState } from './lock-state.ts'
import { createWriteTransactions } from './write-transactions.ts'
import { createWrites, type Writes } from './writes.ts'

export interface WriterData {
  readonly path: string
  readonly checkedFile: string | undefined
  readonly lockState?: LockState | undefined
}

export interface WriteRequest {
  readonly id: number
  readonly name: keyof Writes
  readonly args: readonly unknown[]
}

/** From the main thread. `readerClosed` answers `released`. */
export type WriterCommand = WriteRequest | 'readerClosed' | 'close'

/** Messages between threads lose the class of an error. So only the cause of an `unavailable` error is sent. */
export type WriteResult = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly isUnavailable: boolean; readonly error: Error }
)

/** To the main thread. `started` is the first; `released` asks it to close its own connection. */
export type WriterMessage = WriteResult | 'started' | 'released'

const { path, checkedFile, lockState } = workerData as WriterData
const transactions = createWriteTransactions(path, {
  checkedFile,
  lockState,
  onReleased: () => send('released'),
})
const writes = createWrites(transactions) as Record<
  keyof Writes,
  (...args: readonly unknown[]) => Promise<unknown>
>
let last: Promise<unknown> = Promise.resolve()

parentPort?.on('message', (command: WriterCommand) => {
  if (command === 'readerClosed') transactions.onReaderClosed()
  else last = command === 'close' ? last.then(close) : answer(command)
})
// Opened now, because later there may be no file descriptor left. If it fails, the first write reports it.
transactions.prepareFile().then(
  () => send('started'),
  () => send('started'),
)

function send(message: WriterMessage): void {
  parentPort?.postMessage(message)
}

async function answer({ id, name, args }: WriteRequest): Promise<void> {
  send(await run(id, () => writes[name](...args)))
}

async function run(id: number, write: () => Promise<unknown>): Promise<WriteResult> {
  try {
    return { id, value: await write() }
  } catch (error) {
    return isUnavailable(error)
      ? { id, isUnavailable: true, error: error.cause as Error }
      : { id, isUnavailable: false, error: error as Error }
  }
}

function close(): void {
  transactions.close()
  parentPort?.close()
}
