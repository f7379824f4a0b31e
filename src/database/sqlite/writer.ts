// Sends writes to the writer thread. Commits wait for the disk there, so that readers in this thread never wait.

import { extname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { unavailable } from '../../error.ts'
import type { WriteRequest, WriteResult } from './writer-thread.ts'
import type { Write } from './writes.ts'

export interface Writer {
  readonly write: Write
  /** Finishes pending writes if that takes no longer than two seconds. Rejects new ones. */
  close(): Promise<void>
}

/** Longer than any usable disk takes. A write that times out may have been stored or not. */
const WRITE_TIMEOUT_MS = 10_000

const CLOSE_TIMEOUT_MS = 2_000

interface Pending {
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
  readonly timer: NodeJS.Timeout
}

/**
 * The first write starts the thread. If the thread ends unexpectedly, the next write starts a new one. `onWritten` is
 * called after each write, before its promise settles.
 */
export function openWriter(path: string, onWritten: () => void): Writer {
  const pending = new Map<number, Pending>()
  let thread: Worker | undefined
  let lastId = 0
  let isClosed = false

  function takePending(id: number): Pending | undefined {
    const entry = pending.get(id)
    clearTimeout(entry?.timer)
    pending.delete(id)
    return entry
  }

  function startThread(): Worker {
    const script = new URL(`./writer-thread${extname(import.meta.url)}`, import.meta.url)
    const started = new Worker(script, { workerData: path })
    started.on('message', (result: WriteResult) => {
      const entry = takePending(result.id)
      onWritten()
      if ('value' in result) entry?.resolve(result.value as never)
      else entry?.reject(result.isUnavailable ? unavailable(result.error) : result.error)
    })
    started.on('error', error => onEnd(started, error as Error))
    started.on('exit', () => onEnd(started, new Error('the writer thread has ended')))
    return started
  }

  function onEnd(ended: Worker, cause: Error): void {
    if (thread !== ended) return
    thread = undefined
    for (const id of pending.keys()) takePending(id)?.reject(unavailable(cause))
  }

  return {
    write(name, ...args) {
      if (isClosed) return Promise.reject(unavailable(new Error('the database is closed'))) as never
      thread ??= startThread()
      const id = ++lastId
      const request: WriteRequest = { id, name, args }
      thread.postMessage(request)
      return new Promise<never>((resolve, reject) => {
        const timer = setTimeout(() => {
          takePending(id)
          reject(unavailable(new Error('the disk takes too long')))
        }, WRITE_TIMEOUT_MS)
        pending.set(id, { resolve, reject, timer })
      }) as never
    },

    async close() {
      isClosed = true
      const last = thread
      if (last === undefined) return
      const ended = new Promise<void>(resolve => last.once('exit', () => resolve()))
      last.postMessage('close')
      await Promise.race([ended, delay(CLOSE_TIMEOUT_MS, undefined, { ref: false })])
      await last.terminate()
    },
  }
}
