// Sends writes to the writer thread. Commits wait for the disk there, so that readers in this thread never wait.

import { getCompileCacheDir } from 'node:module'
import { dirname, extname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { unavailable } from '../../error.ts'
import type { StoreLog } from '../../store.ts'
import type { OpenedFiles } from './files.ts'
import type { Write } from './statements.ts'
import type { WriterCommand, WriterMessage } from './writer-thread.ts'

interface Writer {
  readonly write: Write
  /** Starts the thread, unless it is running. */
  start(): void
  /** Resolves when the thread is running. Rejects with `unavailable` if it cannot be started, or not in time. */
  started(): Promise<void>
  /** Finishes pending writes if that takes no longer than two seconds. Rejects new ones. */
  close(): Promise<void>
}

/** Longer than any usable disk takes. A write that times out may have been stored or not. */
export const REQUEST_TIMEOUT_MS = 10_000
/** For commands: better to wait for a busy disk than to start an import again. A lock is not waited for longer (LOCK_TIMEOUT_MS). */
export const COMMAND_TIMEOUT_MS = 60_000

/** After this time `close` returns, even if the thread still waits for the disk. */
const CLOSE_TIMEOUT_MS = 2_000

type Pending = Pick<PromiseWithResolvers<unknown>, 'resolve' | 'reject'>

interface WriterOptions {
  readonly files: OpenedFiles
  /** Called after each write, before its promise settles. */
  readonly onWritten: () => void
  /** Called once, when the `-shm` file was lost: from then on, no connection may be closed. */
  readonly onShmLost: () => void
  readonly log: StoreLog
  /** How long a write may take, and the start of the thread. */
  readonly timeoutMs: number
  /** Replaced by tests only: a thread cannot be made to fail otherwise. */
  readonly startThread?: (files: OpenedFiles) => Worker
}

/** `start` or a write starts the thread, also after it has ended unexpectedly. */
export function openWriter(options: WriterOptions): Writer {
  const { files, onWritten, onShmLost, log, timeoutMs, startThread = newThread } = options
  const pending = new Map<number, Pending>()
  let thread: Worker | undefined
  let threadStarted = Promise.withResolvers<void>()
  let hasFailed = false
  let lastId = 0
  let isClosed = false

  function start(): void {
    if (thread !== undefined || isClosed) return
    let started: Worker
    try {
      started = startThread(files)
    } catch (error) {
      report(error as Error)
      return
    }
    thread = started
    threadStarted = Promise.withResolvers()
    // If nobody waits for the start, a failure must not be an unhandled rejection.
    threadStarted.promise.catch(() => {})
    started.on('message', onMessage)
    started.on('error', error => onEnd(started, error as Error))
    started.on('exit', code => onEnd(started, new Error(`exit code ${code}`)))
  }

  function report({ message }: Error): void {
    if (hasFailed) return
    hasFailed = true
    log.error(`The writer thread has ended unexpectedly (${message}). Creations get 503 until it runs again.`)
  }

  function onMessage(message: WriterMessage): void {
    if (message === 'started') {
      if (hasFailed) log.warn('The writer thread runs again.')
      hasFailed = false
      threadStarted.resolve()
    } else if (message === 'shm lost') {
      onShmLost()
    } else if ('level' in message) {
      log[message.level](message.text)
    } else {
      const write = pending.get(message.id)
      pending.delete(message.id)
      onWritten()
      if ('value' in message) write?.resolve(message.value)
      else if (message.isUnavailable)
        write?.reject(unavailable(message.error, undefined, message.isNothingStored))
      else write?.reject(message.error)
    }
  }

  function onEnd(ended: Worker, cause: Error): void {
    if (thread !== ended) return
    thread = undefined
    if (!isClosed) report(cause)
    // Without a cause, because the log already has the reason.
    for (const { reject } of [threadStarted, ...pending.values()]) reject(unavailable())
    pending.clear()
  }

  return {
    start,

    async started() {
      if (thread === undefined) throw unavailable()
      return inTime(threadStarted.promise, timeoutMs)
    },

    async write(name, ...args) {
      start()
      if (thread === undefined) throw unavailable()
      const id = ++lastId
      thread.postMessage({ id, name, args } satisfies WriterCommand)
      const { promise, ...write } = Promise.withResolvers<never>()
      pending.set(id, write as Pending)
      return inTime(promise, timeoutMs)
    },

    async close() {
      isClosed = true
      const last = thread
      if (last === undefined) return
      const ended = new Promise<void>(resolve => last.once('exit', () => resolve()))
      last.postMessage('close' satisfies WriterCommand)
      await Promise.race([ended, delay(CLOSE_TIMEOUT_MS, undefined, { ref: false })])
      // Not awaited: a thread that waits for the disk ends only when the disk responds.
      last.terminate()
    },
  }
}

function inTime<Result>(promise: Promise<Result>, timeoutMs: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(unavailable(new Error('the disk takes too long'))),
      timeoutMs,
    ).unref()
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

function newThread(workerData: OpenedFiles): Worker {
  const script = new URL(`./writer-thread${extname(import.meta.url)}`, import.meta.url)
  // A thread does not inherit a compile cache that its process has enabled in code. With it, the thread need not strip
  // types, which takes memory (bench/notes.md).
  const cache = getCompileCacheDir()
  return new Worker(script, {
    workerData,
    env: { ...process.env, ...(cache !== undefined && { NODE_COMPILE_CACHE: dirname(cache) }) },
  })
}
