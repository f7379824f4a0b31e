// The rate limit of several workers: the primary process has the buckets, and each worker asks it for a portion of them.

import cluster from 'node:cluster'
import { createBuckets, type Grant, portionOf, type RateLimit } from '../http/api/rate-limit.ts'

interface Question {
  readonly rateLimitQuestion: number
  readonly keyId: string
}

interface Answer {
  readonly rateLimitQuestion: number
  readonly grant: Grant
}

/** A request is granted if the primary does not answer within this time. */
const ANSWER_TIMEOUT_MS = 1_000
const GRANTED: Grant = { granted: 1, remaining: 0, untilFullMs: ANSWER_TIMEOUT_MS, untilNextMs: 0 }

/** Called in the primary before it starts workers. */
export function answerWorkers(limit: RateLimit, workers: number): void {
  const buckets = createBuckets(limit)
  const portion = portionOf(limit, workers)
  cluster.on('message', (worker, { rateLimitQuestion, keyId }: Partial<Question>) => {
    if (rateLimitQuestion === undefined || keyId === undefined) return
    const answer: Answer = { rateLimitQuestion, grant: buckets.take(keyId, portion) }
    // Without a callback, a worker that has just ended would make this an uncaught error.
    worker.send(answer, () => {})
  })
}

/** Called in a worker. Returns a function that asks the primary for requests of a key. */
export function askPrimary(): (keyId: string) => Promise<Grant> {
  const waiting = new Map<number, (grant: Grant) => void>()
  let lastQuestion = 0
  process.on('message', ({ rateLimitQuestion, grant }: Partial<Answer>) => {
    if (rateLimitQuestion !== undefined && grant !== undefined) waiting.get(rateLimitQuestion)?.(grant)
  })
  return keyId =>
    new Promise(resolve => {
      const id = ++lastQuestion
      const timer = setTimeout(() => settle(GRANTED), ANSWER_TIMEOUT_MS)
      function settle(grant: Grant): void {
        clearTimeout(timer)
        waiting.delete(id)
        resolve(grant)
      }
      waiting.set(id, settle)
      process.send?.({ rateLimitQuestion: id, keyId } satisfies Question, undefined, undefined, () => {})
    })
}
