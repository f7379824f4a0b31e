// Several processes that serve one port, and the one that watches over them.

import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { CommandFailed, type Streams } from './command.ts'

/** A worker that ended sooner than this would most likely end again at once. */
const LEAST_LIFE_MS = 1_000

/** A worker stops within 9 seconds, unless it hangs. */
const STOP_WITHIN_MS = 9_500

export interface Workers {
  /** Where all of them listen. */
  readonly address: string
  /** Tells all of them to stop, and resolves when the last one has. */
  stop(): Promise<void>
  /** Ends all of them at once. */
  kill(): void
}

/** What a worker tells the process that watches over it. */
interface Listening {
  readonly address: string
}

/** Starts the workers, each of which runs this very command, and another one for each that ends. */
export async function startWorkers(count: number, { say }: Streams): Promise<Workers> {
  let isStopping = false
  let address: string
  try {
    // The first one alone: what keeps it from listening would keep them all, and is to be said once.
    address = await start()
    await Promise.all(Array.from({ length: count - 1 }, start))
  } catch (error) {
    kill()
    throw error
  }

  function start(): Promise<string> {
    const startedAt = performance.now()
    const worker = cluster.fork()
    return new Promise((resolve, reject) => {
      let hasListened = false
      worker.once('message', ({ address }: Listening) => {
        hasListened = true
        resolve(address)
      })
      worker.once('exit', (code, signal) => {
        const reason = signal ?? `exit code ${code}`
        if (!hasListened) reject(new CommandFailed(`A worker could not start (${reason}).`))
        else if (!isStopping) replace(reason, performance.now() - startedAt)
      })
    })
  }

  async function replace(reason: string, lived: number): Promise<void> {
    say(`A worker has ended (${reason}); another one takes its place.`)
    await delay(Math.max(LEAST_LIFE_MS - lived, 0))
    for (let isStarted = false; !isStopping && !isStarted; ) {
      isStarted = await start().then(
        () => true,
        () => delay(LEAST_LIFE_MS, false),
      )
    }
  }

  function kill(): void {
    isStopping = true
    for (const worker of workers()) worker.process.kill('SIGKILL')
  }

  return {
    address,
    kill,
    async stop() {
      isStopping = true
      const late = setTimeout(kill, STOP_WITHIN_MS)
      await Promise.all(workers().map(stopWorker))
      clearTimeout(late)
    },
  }
}

/** In a worker: tells that it listens, and stops when nobody watches over it any more. */
export function reportToWatcher(address: string, stop: () => void): void {
  // A terminal sends this one to all of them. The watcher passes it on, so that it counts once.
  process.removeAllListeners('SIGINT').on('SIGINT', () => {})
  // Else Node ends the process at once.
  if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true
  process.on('disconnect', stop)
  process.send?.({ address } satisfies Listening)
}

function workers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter(worker => worker !== undefined)
}

async function stopWorker(worker: Worker): Promise<void> {
  if (worker.isDead()) return
  const ended = once(worker, 'exit')
  // A signal and no message: that would be lost on one that is still starting.
  worker.process.kill('SIGTERM')
  await ended
}
