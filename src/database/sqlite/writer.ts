// Sends writes to the writer thread. Commits wait for the disk there, so that readers in this thread never wait.

import { getCompileCacheDir } from 'node:module'
import { dirname, extname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { unavailable } from '../../error.ts'
import type { StoreLog } from '../../store.ts'
import type { OpenedFiles } from './files.ts'
import type { RunTransaction } from './statements.ts'
import type { WriteResult, WriterCommand, WriterMessage } from './writer-thread.ts'

interface Writer {
  readonly write: RunTransaction
  /** Starts the thread, unless it is running. The first write does so, too. */
  start(): void
  /** Finishes pending writes, unless that takes longer than two seconds, calls `closeReader`, and closes its own connection. */
  close(closeReader: () => void): Promise<void>
}

/** Longer than any usable disk takes. A write that times out may have been stored or not. */
export const REQUEST_TIMEOUT_MS = 10_000
/** For commands: better to wait for a busy disk than to start an import again. A lock is not waited for longer (LOCK_TIMEOUT_MS). */
export const COMMAND_TIMEOUT_MS = 60_000

/** After this time `close` returns, even if the thread still waits for the disk. */
const CLOSE_TIMEOUT_MS = 2_000

type Pending = PromiseWithResolvers<unknown>

interface WriterOptions {
  readonly files: OpenedFiles
  /** Called after each write, before its promise settles. If it throws, the write is rejected with that. */
  readonly onWritten: () => void
  readonly log: StoreLog
  /** How long a write may take. */
  readonly timeoutMs: number
}

/** If the thread ends unexpectedly, so does the process, by an exception that nothing catches. */
export function openWriter({ files, onWritten, log, timeoutMs }: WriterOptions): Writer {
  const pending = new Map<number, Pending>()
  let thread: Worker | undefined
  let lastId = 0

  function start(): Worker {
    if (thread !== undefined) return thread
    thread = newThread(files)
    thread.on('message', onMessage)
    thread.on('error', cause => {
      for (const { reject } of pending.values()) reject(unavailable())
      throw new Error('the writer thread has ended', { cause })
    })
    return thread
  }

  function onMessage(message: WriterMessage): void {
    if ('warning' in message) {
      log.warn(message.warning)
      return
    }
    const write = pending.get(message.id)
    pending.delete(message.id)
    try {
      onWritten()
      write?.resolve(unwrap(message))
    } catch (error) {
      write?.reject(error)
    }
  }

  return {
    start,

    async write(name, ...args) {
      const id = ++lastId
      start().postMessage({ id, name, args } satisfies WriterCommand)
      const write = Promise.withResolvers<unknown>()
      pending.set(id, write)
      return withTimeout(write.promise as Promise<never>, timeoutMs)
    },

    async close(closeReader) {
      const deadline = delay(CLOSE_TIMEOUT_MS, undefined, { ref: false })
      await Promise.race([Promise.allSettled([...pending.values()].map(({ promise }) => promise)), deadline])
      closeReader()
      const last = thread
      if (last === undefined) return
      const ended = new Promise<void>(resolve => last.once('exit', () => resolve()))
      last.postMessage('close' satisfies WriterCommand)
      await Promise.race([ended, deadline])
      // Not awaited: a thread that waits for the disk ends only when the disk responds.
      last.terminate()
    },
  }
}

/** Returns the value of a write, or throws its error. */
function unwrap(result: WriteResult): unknown {
  if ('value' in result) return result.value
  throw result.isUnavailable
    ? unavailable({ cause: result.error, isNothingStored: result.isNothingStored })
    : result.error
}

function withTimeout<Result>(promise: Promise<Result>, timeoutMs: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(unavailable({ cause: new Error('the disk takes too long') })),
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
