// Several worker processes that serve one port, and the primary process that starts and replaces them and has the buckets
// of their rate limit.

import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type ExpiringKey, warnOfExpiry } from '../../http/api/key-uses.ts'
import { createBuckets, type Grant, portionOf, type RateLimit } from '../../http/api/rate-limit.ts'
import { CommandFailed } from '../command.ts'
import type { Service } from './service.ts'
import { STOP_LIMITS } from './stop-signals.ts'

/** The shortest time between two starts of a worker: one that ends early would probably end again immediately. */
const RESTART_INTERVAL_MS = 1_000

export interface Workers {
  /** The URL that all workers listen on. */
  readonly address: string
  /** Makes all workers ready, and each one that replaces one of them. */
  setReady(): void
  /** Kills all workers and replaces none. */
  kill(): void
  /** Stops all workers gracefully, and resolves when the last one has ended. */
  stop(): Promise<void>
}

/** What a worker reports to the primary once it listens. */
interface Listening {
  readonly address: string
}

/** What the primary tells a worker. */
const READY = 'ready'

/** Starts the workers, which run the same command line as this process, and replaces each one that ends. */
export async function startWorkers(count: number, log: Logger): Promise<Workers> {
  // Every worker accepts connections from the shared socket by itself. If the primary handed them out, a connection
  // that waits in the channel of a worker would be lost when that worker dies, and its client would wait for ever.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  let isStopping = false
  let isReady = false
  let address: string
  try {
    // The first worker starts alone: if it cannot listen, none can, and the reason is printed once.
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
      let isListening = false
      worker.on('message', ({ address }: Partial<Listening>) => {
        if (address === undefined) return
        isListening = true
        if (isReady) tellReady(worker)
        resolve(address)
      })
      worker.once('exit', (code, signal) => {
        const reason = signal ?? `exit code ${code}`
        if (!isListening) reject(new CommandFailed(`A worker could not start (${reason}).`))
        else if (!isStopping) replace(reason, performance.now() - startedAt)
      })
    })
  }

  async function replace(reason: string, lifetime: number): Promise<void> {
    log.error({ reason }, 'a worker ended; starting another one')
    await delay(Math.max(RESTART_INTERVAL_MS - lifetime, 0))
    for (let isStarted = false; !isStopping && !isStarted; ) {
      isStarted = await start().then(
        () => true,
        () => delay(RESTART_INTERVAL_MS, false),
      )
    }
  }

  function kill(): void {
    isStopping = true
    killWorkers()
  }

  return {
    address,
    kill,
    setReady() {
      isReady = true
      workers().forEach(tellReady)
    },
    async stop() {
      isStopping = true
      const timer = setTimeout(kill, STOP_LIMITS.killWorkersMs)
      await Promise.all(workers().map(stopWorker))
      clearTimeout(timer)
    },
  }
}

/** Called in a worker: reports that it listens, and stops it when the primary is gone. */
export function followPrimary({ address, setReady }: Service, stop: () => void): void {
  // Otherwise Node.js calls `process.exit(0)` when the primary is gone, as its documentation of `worker.process` says: requests in
  // flight would get no answer (test/slow/serve-workers.test.ts).
  if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true
  process.on('disconnect', stop)
  process.on('message', message => message === READY && setReady())
  process.send?.({ address } satisfies Listening)
}

/** Called in the primary when it ends itself. */
export function killWorkers(): void {
  for (const worker of workers()) worker.process.kill('SIGKILL')
}

function tellReady(worker: Worker): void {
  worker.send(READY, ignoreEndedProcess)
}

/** Without a callback, a message to a process that has just ended would be an uncaught error. */
function ignoreEndedProcess(): void {}

function workers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter(worker => worker !== undefined)
}

async function stopWorker(worker: Worker): Promise<void> {
  if (worker.isDead()) return
  const ended = once(worker, 'exit')
  // A signal instead of a message: a worker that is still starting would miss the message.
  worker.process.kill('SIGTERM')
  await ended
}

/** What a worker asks the primary, and the answer. A worker asks only once at a time for each key. */
interface RateLimitMessage {
  readonly rateLimitedKey: string
  readonly grant?: Grant
}

/** Called in the primary before it starts workers: grants each of them portions of the buckets. */
export function grantToWorkers(limit: RateLimit, workers: number): void {
  const buckets = createBuckets(limit)
  const portion = portionOf(limit, workers)
  cluster.on('message', (worker, { rateLimitedKey }: Partial<RateLimitMessage>) => {
    if (rateLimitedKey === undefined) return
    const answer: RateLimitMessage = { rateLimitedKey, grant: buckets.take(rateLimitedKey, portion) }
    worker.send(answer, ignoreEndedProcess)
  })
}

/** Called in a worker. Returns a function that asks the primary for requests of a key. It never resolves if the primary is gone. */
export function createGrantRequester(): (keyId: string) => Promise<Grant> {
  const waiting = new Map<string, (grant: Grant) => void>()
  process.on('message', ({ rateLimitedKey, grant }: Partial<RateLimitMessage>) => {
    if (rateLimitedKey === undefined || grant === undefined) return
    waiting.get(rateLimitedKey)?.(grant)
    waiting.delete(rateLimitedKey)
  })
  return rateLimitedKey =>
    new Promise(resolve => {
      waiting.set(rateLimitedKey, resolve)
      const question: RateLimitMessage = { rateLimitedKey }
      process.send?.(question, undefined, undefined, ignoreEndedProcess)
    })
}

/** What a worker tells the primary about a key that expires soon. */
interface ExpiryMessage {
  readonly expiringKey: ExpiringKey
}

/** Called in a worker. */
export function tellPrimaryOfExpiry(expiringKey: ExpiringKey): void {
  process.send?.({ expiringKey } satisfies ExpiryMessage, undefined, undefined, ignoreEndedProcess)
}

/** Called in the primary: logs one warning for each key and day, although each worker tells about it. */
export function warnOfExpiringKeys(log: Logger): void {
  /** The last day by the id of the key. */
  const warned = new Map<string, string>()
  cluster.on('message', (_worker, { expiringKey }: Partial<ExpiryMessage>) => {
    if (expiringKey === undefined || warned.get(expiringKey.id) === expiringKey.day) return
    warned.set(expiringKey.id, expiringKey.day)
    warnOfExpiry(log, expiringKey)
  })
}
