// Stops the service on SIGTERM and SIGINT and, under npm, when the parent process ends.

import { constants } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'

/** Signals this soon after the first are duplicates: a terminal, a supervisor, npm and its shell may all send one. */
const DUPLICATE_MS = 100

/**
 * The latest time of each step, counted from the first signal. The service promises to stop within 10 seconds. The last
 * second is for a busy machine.
 */
export const STOP_LIMITS = {
  /** Connections are closed, whatever clients do. The database is closed after that. */
  closeConnectionsMs: 8_000,
  /** The primary process kills the workers that are left. */
  killWorkersMs: 8_900,
  /** The process ends, whatever the disk does. */
  endProcessMs: 9_000,
} as const

const THREAD_CHECK_INTERVAL_MS = 20
const PARENT_CHECK_INTERVAL_MS = 250

/** The first signal stops the service gracefully, a second one ends the process immediately. Returns `stop`. */
export function stopOnSignal(
  service: { stop(): Promise<void>; kill?(): void },
  say: (text: string) => void,
): () => void {
  let stoppedAt: number | undefined

  function stop(): void {
    if (stoppedAt !== undefined) return
    stoppedAt = performance.now()
    setTimeout(() => {
      say(
        'The database cannot be closed in time, perhaps because the disk does not respond. The process ends now.',
      )
      end('SIGTERM')
    }, STOP_LIMITS.endProcessMs)
    service.stop().then(
      () => exitAfterThreads(0),
      error => {
        say(inspect(error))
        return exitAfterThreads(1)
      },
    )
  }

  /** Ends the process without waiting for its threads. */
  function end(signal: NodeJS.Signals): void {
    service.kill?.()
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
    // The first process of a container is not ended by its own signals.
    process.exit(128 + constants.signals[signal])
  }

  function onSignal(signal: NodeJS.Signals): void {
    if (stoppedAt === undefined) stop()
    else if (performance.now() - stoppedAt > DUPLICATE_MS) end(signal)
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  if (process.env.npm_lifecycle_event !== undefined) stopWithParentProcess(stop)
  return stop
}

/** `process.exit` blocks until all threads have ended. While one of them waits for the disk, no timer would run. */
async function exitAfterThreads(code: number): Promise<void> {
  while (process.getActiveResourcesInfo().some(isThread)) await delay(THREAD_CHECK_INTERVAL_MS)
  process.exit(code)
}

/** A worker thread has a port for messages. A file operation runs in a thread of libuv. */
function isThread(resource: string): boolean {
  return resource === 'MessagePort' || resource.startsWith('FSReq')
}

/** npm signals only its shell, which may end without passing the signal on. The service would be left running. */
function stopWithParentProcess(stop: () => void): void {
  const parent = process.ppid
  setInterval(() => process.ppid === parent || stop(), PARENT_CHECK_INTERVAL_MS).unref()
}
