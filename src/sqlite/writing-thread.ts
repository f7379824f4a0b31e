// The thread that writes: one connection of its own, and one write after the other.

import { parentPort, workerData } from 'node:worker_threads'
import { ServiceError } from '../error.ts'
import { connect } from './connection.ts'
import { prepareStatements } from './statements.ts'
import { type Writes, writesOn } from './writes.ts'

export interface Request {
  readonly call: number
  readonly name: keyof Writes
  readonly args: readonly unknown[]
}

/** An error loses its class on the way, so that of a ServiceError only its cause is sent. */
export type Answer = { readonly call: number } & (
  | { readonly value: unknown }
  | { readonly isAway: boolean; readonly error: Error }
)

const connection = connect(workerData, { create: false, isWriter: true }, prepareStatements)
const writes = writesOn(connection) as Record<keyof Writes, (...args: readonly unknown[]) => Promise<unknown>>
let last: Promise<unknown> = Promise.resolve()

parentPort?.on('message', (request: Request | 'close') => {
  last = request === 'close' ? last.then(close) : answer(request)
})

async function answer({ call, name, args }: Request): Promise<void> {
  parentPort?.postMessage(await attempt(call, () => writes[name](...args)))
}

async function attempt(call: number, write: () => Promise<unknown>): Promise<Answer> {
  try {
    return { call, value: await write() }
  } catch (error) {
    const isAway = error instanceof ServiceError && error.code === 'unavailable'
    return { call, isAway, error: (isAway ? error.cause : error) as Error }
  }
}

function close(): void {
  connection.close()
  parentPort?.close()
}
