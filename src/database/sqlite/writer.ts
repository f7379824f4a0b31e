// Sends writes to the writer thread. Commits wait for the disk there, so that readers in this thread never wait.

import { getCompileCacheDir } from 'node:module'
import { dirname, extname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { type ServiceError, unavailable } from '../../error.ts'
import { setReleased } from './lock-state.ts'
import type { WriteRequest, WriterCommand, WriterData, WriterMessage } from './writer-thread.ts'
import type { Write } from './writes.ts'

export interface Writer {
  readonly write: Write
  /** Starts the thread, unless it is running or waits to be restarted. */
  start(): void
  /** Resolves when the thread is running. Rejects with `unavailable` if it cannot be started, or not within 10 seconds. */
  started(): Promise<void>
  /** Finishes pending writes if that takes no longer than two seconds. Rejects new ones. */
  close(): Promise<void>
}

/** Longer than any usable disk takes. A write that times out may have been stored or not. */
const WRITE_TIMEOUT_MS = 10_000

/** Longer than the wait for a lock, but short, because readers wait until the file is open. */
const PREPARE_TIMEOUT_MS = 2_500

/** After this time `close` returns, even if the thread still waits for the disk. */
const CLOSE_TIMEOUT_MS = 2_000

/** The pause before a thread that ended is restarted. It doubles with each failure. */
const RESTART_PAUSE_MS = { first: 50, longest: 2_000 }

interface Pending {
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
  readonly timer: NodeJS.Timeout
}

export interface WriterOptions extends WriterData {
  /** Called after each write, before its promise settles. */
  readonly onWritten: () => void
  /** Closes the connection of the reader. */
  readonly onReleased: () => void
  /** Replaced by tests only: a thread cannot be made to fail otherwise. */
  readonly startThread?: (data: WriterData) => Worker
}

/** `start` or the first write starts the thread. If it ends unexpectedly, it is restarted after a pause. */
export function openWriter({
  path,
  checkedFile,
  lockState,
  onWritten,
  onReleased,
  startThread = newThread,
}: WriterOptions): Writer {
  const pending = new Map<number, Pending>()
  let thread: Worker | undefined
  let restart: NodeJS.Timeout | undefined
  let pauseMs = RESTART_PAUSE_MS.first
  let startResult = Promise.withResolvers<void>()
  let lastId = 0
  let isClosed = false

  function takePending(id: number): Pending | undefined {
    const entry = pending.get(id)
    clearTimeout(entry?.timer)
    pending.delete(id)
    return entry
  }

  function start(): void {
    if (thread !== undefined || restart !== undefined || isClosed) return
    let started: Worker
    try {
      started = startThread({ path, checkedFile, lockState })
    } catch {
      startLater()
      return
    }
    thread = started
    startResult = Promise.withResolvers()
    // If nobody waits for the start, a failure must not be an unhandled rejection.
    startResult.promise.catch(() => {})
    started.on('message', onMessage)
    started.on('error', error => onEnd(started, error as Error))
    started.on('exit', () => onEnd(started, new Error('the writer thread has ended')))
  }

  function startLater(): void {
    restart = setTimeout(() => {
      restart = undefined
      start()
    }, pauseMs).unref()
    pauseMs = Math.min(pauseMs * 2, RESTART_PAUSE_MS.longest)
  }

  function onMessage(message: WriterMessage): void {
    if (message === 'started') {
      pauseMs = RESTART_PAUSE_MS.first
      startResult.resolve()
    } else if (message === 'released') {
      onReleased()
      send('readerClosed')
    } else {
      const entry = takePending(message.id)
      onWritten()
      if ('value' in message) entry?.resolve(message.value as never)
      else entry?.reject(message.isUnavailable ? unavailable(message.error) : message.error)
    }
  }

  function onEnd(ended: Worker, cause: Error): void {
    if (thread !== ended) return
    thread = undefined
    if (lockState !== undefined) setReleased(lockState)
    startResult.reject(unavailable(cause))
    for (const id of pending.keys()) takePending(id)?.reject(unavailable(cause))
    if (!isClosed) startLater()
  }

  function send(command: WriterCommand): void {
    thread?.postMessage(command)
  }

  return {
    start,

    started() {
      if (thread === undefined) return Promise.reject(notStarted())
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(diskTooSlow()), WRITE_TIMEOUT_MS).unref()
        startResult.promise.then(resolve, reject).finally(() => clearTimeout(timer))
      })
    },

    write(name, ...args) {
      if (isClosed) return Promise.reject(unavailable(new Error('the database is closed'))) as never
      start()
      if (thread === undefined) return Promise.reject(notStarted()) as never
      const id = ++lastId
      send({ id, name, args } satisfies WriteRequest)
      return new Promise<never>((resolve, reject) => {
        const timer = setTimeout(
          () => {
            takePending(id)
            reject(diskTooSlow())
          },
          name === 'prepareFile' ? PREPARE_TIMEOUT_MS : WRITE_TIMEOUT_MS,
        )
        pending.set(id, { resolve, reject, timer })
      }) as never
    },

    async close() {
      isClosed = true
      clearTimeout(restart)
      const last = thread
      if (last === undefined) return
      const ended = new Promise<void>(resolve => last.once('exit', () => resolve()))
      send('close')
      await Promise.race([ended, delay(CLOSE_TIMEOUT_MS, undefined, { ref: false })])
      // Not awaited: a thread that waits for the disk ends only when the disk responds.
      last.terminate()
    },
  }
}

function diskTooSlow(): ServiceError {
  return unavailable(new Error('the disk takes too long'))
}

function notStarted(): ServiceError {
  return unavailable(new Error('the writer thread could not be started'))
}

function newThread(workerData: WriterData): Worker {
  const script = new URL(`./writer-thread${extname(import.meta.url)}`, import.meta.url)
  const cache = getCompileCacheDir()
  if (cache === undefined) return new Worker(script, { workerData })
  // A thread does not inherit a compile cache that its process has enabled in code. With it, the thread need not strip
  // types, which saves 30 MB in a checkout.
  const start = `require('node:module').enableCompileCache(${JSON.stringify(dirname(cache))})
    import(${JSON.stringify(script.href)})`
  return new Worker(start, { workerData, eval: true })
}
