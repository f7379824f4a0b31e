// The writer thread: it has its own connection, and runs one write after the other.

import { parentPort, workerData } from 'node:worker_threads'
import { isUnavailable } from '../../error.ts'
import { connect } from './connection.ts'
import { prepareStatements } from './statements.ts'
import { type Writes, writesOn } from './writes.ts'

export interface WriteRequest {
  readonly id: number
  readonly name: keyof Writes
  readonly args: readonly unknown[]
}

/** Messages between threads lose the class of an error. So only the cause of an `unavailable` error is sent. */
export type WriteResult = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly isUnavailable: boolean; readonly error: Error }
)

const connection = connect(workerData, { create: false, isWriter: true }, prepareStatements)
const writes = writesOn(connection) as Record<keyof Writes, (...args: readonly unknown[]) => Promise<unknown>>
let last: Promise<unknown> = Promise.resolve()

parentPort?.on('message', (request: WriteRequest | 'close') => {
  last = request === 'close' ? last.then(close) : answer(request)
})

async function answer({ id, name, args }: WriteRequest): Promise<void> {
  parentPort?.postMessage(await run(id, () => writes[name](...args)))
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
  connection.close()
  parentPort?.close()
}
