// Batches calls: those that arrive together, or while earlier batches run, are sent together. Writes are batched on both
// databases, reads on PostgreSQL.

import { isUnavailable, type ServiceError, unavailable } from '../error.ts'
import type { Store } from '../store.ts'
import type { Outcome, Write } from '../write.ts'

export interface BatchLimits {
  /** The most items in one batch. A call with more items is a batch of its own. */
  readonly size: number
  /** The most items in the queue. Calls beyond that are rejected at once. */
  readonly queueLength: number
  /** The most batches that run at the same time. The default is 1. */
  readonly inFlight?: number
}

export const WRITE_LIMITS: BatchLimits = { size: 256, queueLength: 4_096 }

/** Enough for a disk that stalls briefly, and for an earlier batch that waits 2 s for a lock. */
export const WRITE_QUEUE_TIMEOUT_MS = 5_000

export interface BatchOptions<Call, Result> {
  /** Returns one result for each call, in the same order. */
  readonly run: (calls: readonly Call[]) => Promise<readonly Result[]>
  readonly limits: BatchLimits
  /** How long a call may wait in the queue. */
  readonly queueTimeoutMs: number
  /** How many items a call counts for. The default is 1. */
  readonly sizeOf?: (call: Call) => number
  /**
   * What only one call in a batch may use. Another one that uses it waits for the next batch, and later calls pass it. By default
   * calls do not exclude each other.
   */
  readonly usesOf?: (call: Call) => readonly string[]
  /** For how many event-loop turns, including the current one, a batch waits for further calls, unless it is full. */
  readonly turns: number
  /** What a call is rejected with if the queue is full, or if it waits in the queue too long. */
  readonly overloaded: () => ServiceError
}

interface Entry<Call, Result> {
  readonly call: Call
  readonly size: number
  readonly uses: readonly string[]
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
  readonly expiresAt: number
}

interface Batcher<Call, Result> {
  (call: Call): Promise<Result>
  /** Returns the number of items in the queue. */
  waiting(): number
}

/**
 * Returns a function that takes one call. If a batch fails although the database is available, its calls run one by one,
 * so that only the one that caused the failure fails.
 */
export function createBatcher<Call, Result>({
  run,
  limits,
  queueTimeoutMs,
  sizeOf = () => 1,
  usesOf = () => [],
  turns,
  overloaded,
}: BatchOptions<Call, Result>): Batcher<Call, Result> {
  const maxInFlight = limits.inFlight ?? 1
  /** In order of arrival, and therefore in order of expiry. */
  const queue: Entry<Call, Result>[] = []
  let queued = 0
  let inFlight = 0
  let isWaiting = false
  let hasTimer = false

  function dequeue(): Entry<Call, Result> | undefined {
    const entry = queue.shift()
    queued -= entry?.size ?? 0
    return entry
  }

  function nextBatch(): Entry<Call, Result>[] {
    const batch: Entry<Call, Result>[] = []
    const postponed: Entry<Call, Result>[] = []
    const used = new Set<string>()
    let size = 0
    while (queue[0] !== undefined) {
      if (batch.length > 0 && size + queue[0].size > limits.size) break
      const entry = dequeue() as Entry<Call, Result>
      const isExcluded = entry.uses.some(use => used.has(use))
      // Those of a postponed call too, so that calls that use the same stay in order.
      for (const use of entry.uses) used.add(use)
      if (!isExcluded) size += entry.size
      ;(isExcluded ? postponed : batch).push(entry)
    }
    queue.unshift(...postponed)
    for (const entry of postponed) queued += entry.size
    return batch
  }

  /** A full batch does not wait: under overload one event-loop turn can take seconds. */
  function sendBatches(): void {
    while (inFlight < maxInFlight && queued >= limits.size) send(nextBatch())
    if (inFlight < maxInFlight && queue.length > 0 && !isWaiting) waitForMore(turns)
  }

  function waitForMore(remaining: number): void {
    isWaiting = true
    setImmediate(() => {
      if (remaining > 1) return waitForMore(remaining - 1)
      isWaiting = false
      if (inFlight < maxInFlight && queue.length > 0) send(nextBatch())
      sendBatches()
    })
  }

  async function send(batch: readonly Entry<Call, Result>[]): Promise<void> {
    inFlight++
    await runBatch(run, batch)
    inFlight--
    sendBatches()
  }

  /** One timer serves the whole queue: it is set for the entry that expires first. */
  function startTimer(): void {
    const next = queue[0]
    if (hasTimer || next === undefined) return
    hasTimer = true
    setTimeout(rejectExpired, next.expiresAt - performance.now()).unref()
  }

  function rejectExpired(): void {
    hasTimer = false
    while (queue[0] !== undefined && queue[0].expiresAt <= performance.now()) dequeue()?.reject(overloaded())
    startTimer()
  }

  function add(call: Call): Promise<Result> {
    const size = sizeOf(call)
    if (queued + size > limits.queueLength) return Promise.reject(overloaded())
    return new Promise((resolve, reject) => {
      const expiresAt = performance.now() + queueTimeoutMs
      queue.push({ call, size, uses: usesOf(call), resolve, reject, expiresAt })
      queued += size
      startTimer()
      sendBatches()
    })
  }
  return Object.assign(add, { waiting: () => queued })
}

/** Settles every entry, and never rejects. */
async function runBatch<Call, Result>(
  run: BatchOptions<Call, Result>['run'],
  batch: readonly Entry<Call, Result>[],
): Promise<void> {
  try {
    const results = await run(batch.map(({ call }) => call))
    for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result)
  } catch (error) {
    if (isUnavailable(error) || batch.length === 1) {
      for (const { reject } of batch) reject(error)
    } else {
      await runOneByOne(run, batch)
    }
  }
}

/** Once the database is unavailable, rejects the remaining calls: each of them would only wait for it in vain. */
async function runOneByOne<Call, Result>(
  run: BatchOptions<Call, Result>['run'],
  batch: readonly Entry<Call, Result>[],
): Promise<void> {
  let outage: unknown
  for (const { call, resolve, reject } of batch) {
    if (outage !== undefined) {
      reject(outage)
      continue
    }
    try {
      const [result] = await run([call])
      resolve(result as Result)
    } catch (error) {
      if (isUnavailable(error)) outage = error
      reject(error)
    }
  }
}

export interface BatchedStore extends Store {
  /** Returns the number of writes in the queue. */
  writesWaiting(): number
}

/** Returns what tells whether a statement can do two writes: the animal, if it exists already, and the idempotency key. */
export function usesOfWrite(write: Write): readonly string[] {
  const { idempotency } = write
  return [
    ...(write.kind === 'create' ? [] : [`${write.id}`]),
    ...(idempotency === undefined ? [] : [JSON.stringify([idempotency.scope, idempotency.key])]),
  ]
}

interface BatchedStoreOptions {
  readonly limits?: BatchLimits
  /**
   * Whether the store needs a statement and a commit of its own for each further write of one animal in a batch. Such writes then
   * wait for the next batch, so that the writes of other animals need not wait for all of them.
   */
  readonly hasOneWritePerAnimal?: boolean
  readonly queueTimeoutMs?: number | undefined
  /** Gets the number of writes in each commit. */
  readonly onCommit?: ((writes: number) => void) | undefined
}

/**
 * Returns the same store with its writes batched.
 *
 * A batch waits for writes that arrive in this event-loop turn and the next. Clients that were just answered send their next write
 * then. Without the wait, they would form a second group, and the two groups would commit in turns.
 */
export function batchWrites(
  store: Store,
  {
    limits = WRITE_LIMITS,
    hasOneWritePerAnimal = false,
    queueTimeoutMs = WRITE_QUEUE_TIMEOUT_MS,
    onCommit = () => {},
  }: BatchedStoreOptions = {},
): BatchedStore {
  const write = createBatcher<readonly Write[], Outcome[]>({
    async run(calls) {
      const outcomes = await store.write(calls.flat())
      onCommit(outcomes.length)
      let from = 0
      return calls.map(({ length }) => {
        from += length
        return outcomes.slice(from - length, from)
      })
    },
    limits,
    queueTimeoutMs,
    sizeOf: ({ length }) => length,
    ...(hasOneWritePerAnimal && { usesOf: writes => writes.flatMap(usesOfWrite) }),
    turns: 2,
    overloaded: () => unavailable({ message: 'The request could not be stored in time. Try again shortly.' }),
  })
  return { ...store, write, writesWaiting: write.waiting }
}
