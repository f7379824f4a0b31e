// The metrics and the readiness of several worker processes: the primary process asks each one. It adds up the values, and is ready
// if all workers that listen are.

import cluster, { type Worker } from 'node:cluster'
import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client'
import { unavailable } from '../error.ts'
import type { MetricsSource } from './listener.ts'
import { addProgramInfo, type Metrics, type MetricValues, type ProgramInfo } from './metrics.ts'

/** Longer than a worker waits for its database. Prometheus gives up after 10 seconds by default. */
const ANSWER_TIMEOUT_MS = 2_000

/** What the primary asks about, and the types of the answers. */
interface Answers {
  metrics: MetricValues
  isReady: boolean
}

interface Question {
  readonly questionId: number
  readonly about: keyof Answers
}

interface Answer {
  readonly answerTo: number
  readonly answer: Answers[keyof Answers]
}

/** Called in a worker. */
export function answerPrimary({ values, checkReadiness }: Metrics): void {
  const answers = {
    metrics: async () => (await values()).map(withoutGaps),
    isReady: () =>
      checkReadiness().then(
        () => true,
        () => false,
      ),
  } satisfies { [About in keyof Answers]: () => Promise<Answers[About]> }

  process.on('message', async ({ questionId, about }: Partial<Question>) => {
    if (questionId === undefined || about === undefined) return
    const answer: Answer = { answerTo: questionId, answer: await answers[about]() }
    // Without a callback, a primary that has just ended would make this an uncaught error.
    if (process.connected) process.send?.(answer, undefined, undefined, () => {})
  })
}

/** A message cannot contain NaN, which is the event-loop lag before it was first measured. */
function withoutGaps(metric: MetricValues[number]): MetricValues[number] {
  return { ...metric, values: metric.values.filter(({ value }) => Number.isFinite(value)) }
}

/** prom-client leaves the start time out of a sum. The earliest one is that of the primary. */
function withStartTime(metric: MetricValues[number]): MetricValues[number] {
  return metric.name === 'process_start_time_seconds' ? { ...metric, aggregator: 'min' } : metric
}

/**
 * Called in the primary before it starts workers.
 *
 * A counter must never decrease, because Prometheus would take that for a restart. So the last values of a worker are
 * used while it does not answer, and its counters are kept when it has ended.
 */
export function createAggregator(info: ProgramInfo): MetricsSource {
  const own = new Registry()
  const listening = new Set<Worker>()
  const lastValues = new Map<number, MetricValues>()
  /**
   * The counters of workers that have ended: first the sum over those that ended before the last scrape, then one entry
   * for each worker that has ended since.
   */
  const ended: MetricValues[] = []
  let questions = 0
  collectDefaultMetrics({ register: own })
  addProgramInfo([own], info)

  cluster.on('listening', worker => listening.add(worker))
  cluster.on('exit', worker => {
    listening.delete(worker)
    const counters = lastValues
      .get(worker.id)
      ?.filter(({ type }) => /^(counter|histogram)$/.test(String(type)))
    lastValues.delete(worker.id)
    if (counters !== undefined) ended.push(counters)
  })

  /** Resolves with undefined if the worker ends or takes too long. */
  function ask<About extends keyof Answers>(
    worker: Worker,
    about: About,
  ): Promise<Answers[About] | undefined> {
    const questionId = ++questions
    return new Promise(resolve => {
      const timer = setTimeout(done, ANSWER_TIMEOUT_MS)
      function done(answer?: Answers[About]): void {
        clearTimeout(timer)
        worker.off('message', onMessage).off('exit', onExit)
        resolve(answer)
      }
      const onExit = () => done()
      function onMessage({ answerTo, answer }: Partial<Answer>): void {
        if (answerTo === questionId) done(answer as Answers[About])
      }
      worker.on('message', onMessage).on('exit', onExit)
      worker.send({ questionId, about } satisfies Question, error => error && done())
    })
  }

  async function updateValues(worker: Worker): Promise<void> {
    const values = await ask(worker, 'metrics')
    if (values !== undefined && !worker.isDead()) lastValues.set(worker.id, values)
  }

  return {
    async render() {
      const workers = Object.values(cluster.workers ?? {}).filter(worker => worker?.isConnected())
      await Promise.all(workers.map(worker => worker && updateValues(worker)))
      const ownValues = (await own.getMetricsAsJSON()).map(withStartTime)
      const sum = AggregatorRegistry.aggregate([ownValues, ...ended, ...lastValues.values()])
      const merged = ended.splice(0)
      ended.unshift(await AggregatorRegistry.aggregate(merged).getMetricsAsJSON())
      return sum.metrics()
    },

    async checkReadiness() {
      const answers = await Promise.all([...listening].map(worker => ask(worker, 'isReady')))
      if (answers.length === 0 || answers.some(isReady => isReady !== true))
        throw unavailable({ message: 'A worker is not ready.' })
    },
  }
}
