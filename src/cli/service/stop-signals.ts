// Stops the service on SIGTERM and SIGINT, after an exception that nothing has caught and, under npm, when the parent process
// ends.

import cluster from 'node:cluster'
import { write } from 'node:fs'
import { constants } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { inspect, promisify } from 'node:util'
import type { Logger } from 'pino'

/** Signals this soon after the first are duplicates: a terminal, a supervisor, npm and its shell may all send one. */
const DUPLICATE_MS = 100

/**
 * The latest time of each step, counted from the first signal. The service promises to stop within 10 seconds. The rest
 * is for a busy machine.
 */
export const STOP_LIMITS = {
  /** Connections are closed, whatever clients do. The database is closed after that. */
  closeConnectionsMs: 7_500,
  /** The primary process kills the workers that are left. */
  killWorkersMs: 8_400,
  /** The process ends, whatever the disk does. */
  endProcessMs: 8_500,
} as const

/** How long the last message may take. */
const MESSAGE_TIMEOUT_MS = 500

const THREAD_CHECK_INTERVAL_MS = 20
const PARENT_CHECK_INTERVAL_MS = 250

const writeText = promisify(write)

/** The first signal stops the service gracefully, a second one ends the process immediately. Returns `stop`. */
export function stopOnSignal(
  service: { stop(): Promise<void>; kill?(): void },
  log: Pick<Logger, 'fatal'>,
): () => void {
  let stoppedAt: number | undefined
  let exitCode = 0

  function stop(): void {
    if (stoppedAt !== undefined) return
    stoppedAt = performance.now()
    setTimeout(async () => {
      await print(
        'The service cannot stop in time, perhaps because a disk or the output does not respond. The process ends now.',
      )
      // systemd does not restart a service that was ended by SIGTERM.
      end(exitCode === 0 ? 'SIGTERM' : 'SIGKILL')
    }, STOP_LIMITS.endProcessMs)
    service
      .stop()
      .catch(error => {
        exitCode = 1
        return print(inspect(error))
      })
      .then(exitAfterThreads)
  }

  /** `process.exit` blocks until all threads have ended. While one of them waits for the disk, no timer would run. */
  async function exitAfterThreads(): Promise<void> {
    while (process.getActiveResourcesInfo().some(isThread)) await delay(THREAD_CHECK_INTERVAL_MS)
    process.exit(exitCode)
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
  // A terminal sends SIGINT to all processes. A worker stops when the primary tells it to.
  process.on('SIGINT', cluster.isWorker ? () => {} : onSignal)
  // Such as an exception inside pg, for a malformed message from the server. The service manager starts a new process.
  process.on('uncaughtException', error => {
    log.fatal(error, 'An unexpected exception. The service stops.')
    exitCode = 1
    stop()
  })
  if (process.env.npm_lifecycle_event !== undefined) stopWithParentProcess(stop)
  return stop
}

/** `process.stderr` would block the process while its terminal or its disk stalls. */
async function print(text: string): Promise<void> {
  const written = writeText(process.stderr.fd, `${text}\n`).catch(() => {})
  await Promise.race([written, delay(MESSAGE_TIMEOUT_MS)])
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
