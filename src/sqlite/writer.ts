// The way to the writing thread. Commits wait for the disk there, and readers do not wait for them here.

import { extname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { unavailable } from '../error.ts'
import type { Write } from './writes.ts'
import type { Answer, Request } from './writing-thread.ts'

export interface Writer {
  readonly write: Write
  /** What was asked for before is still done, if that takes no longer than two seconds; nothing is from then on. */
  close(): Promise<void>
}

/** Longer than any disk that is still of use takes. What is given up after it may have been stored, or not. */
const GIVE_UP_MS = 10_000

const CLOSE_WITHIN_MS = 2_000

interface Pending {
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
  readonly timer: NodeJS.Timeout
}

/**
 * The thread is started by the first write, and again by the next one should it ever end. `onWritten` is called after
 * each write, before whoever asked for it is told.
 */
export function openWriter(path: string, onWritten: () => void): Writer {
  const pending = new Map<number, Pending>()
  let thread: Worker | undefined
  let calls = 0
  let isClosed = false

  function settle(call: number): Pending | undefined {
    const waiting = pending.get(call)
    clearTimeout(waiting?.timer)
    pending.delete(call)
    return waiting
  }

  function start(): Worker {
    const script = new URL(`./writing-thread${extname(import.meta.url)}`, import.meta.url)
    const started = new Worker(script, { workerData: path })
    started.on('message', (answer: Answer) => {
      const waiting = settle(answer.call)
      onWritten()
      if ('value' in answer) waiting?.resolve(answer.value as never)
      else waiting?.reject(answer.isAway ? unavailable(answer.error) : answer.error)
    })
    started.on('error', error => end(started, error as Error))
    started.on('exit', () => end(started, new Error('the writing thread has ended')))
    return started
  }

  function end(ended: Worker, cause: Error): void {
    if (thread !== ended) return
    thread = undefined
    for (const call of pending.keys()) settle(call)?.reject(unavailable(cause))
  }

  return {
    write(name, ...args) {
      if (isClosed) return Promise.reject(unavailable(new Error('the database is closed'))) as never
      thread ??= start()
      const call = ++calls
      const request: Request = { call, name, args }
      thread.postMessage(request)
      return new Promise<never>((resolve, reject) => {
        const timer = setTimeout(() => {
          settle(call)
          reject(unavailable(new Error('the disk takes too long')))
        }, GIVE_UP_MS)
        pending.set(call, { resolve, reject, timer })
      }) as never
    },

    async close() {
      isClosed = true
      const last = thread
      if (last === undefined) return
      const ended = new Promise<void>(resolve => last.once('exit', () => resolve()))
      last.postMessage('close')
      await Promise.race([ended, delay(CLOSE_WITHIN_MS, undefined, { ref: false })])
      await last.terminate()
    },
  }
}
