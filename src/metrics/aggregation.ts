// The metrics of several worker processes: the primary process asks each for its values, and adds them up.

import cluster, { type Worker } from 'node:cluster'
import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client'
import type { Metrics, MetricValues } from './metrics.ts'

/** Longer than a worker waits for its database. Prometheus gives up after 10 seconds by default. */
const ANSWER_TIMEOUT_MS = 2_000

interface Question {
  readonly metricsQuestion: number
}

interface Answer extends Question {
  readonly values: MetricValues
}

/** Called in a worker. */
export function answerPrimary(metrics: Metrics): void {
  process.on('message', async (message: Partial<Question>) => {
    if (message.metricsQuestion === undefined) return
    const values = (await metrics.values()).map(withoutGaps)
    const answer = { metricsQuestion: message.metricsQuestion, values } satisfies Answer
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
 * Called in the primary before it starts workers. Returns a function that renders the sum over all processes.
 *
 * A counter must never decrease, because Prometheus would take that for a restart. So the last values of a worker are
 * used while it does not answer, and its counters are kept when it has ended.
 */
export function createAggregator(): () => Promise<string> {
  const own = new Registry()
  const lastValues = new Map<number, MetricValues>()
  /**
   * The counters of workers that have ended: first the sum over those that ended before the last scrape, then one entry
   * for each worker that has ended since.
   */
  const ended: MetricValues[] = []
  let question = 0
  collectDefaultMetrics({ register: own })

  cluster.on('exit', ({ id }: Worker) => {
    const counters = lastValues.get(id)?.filter(({ type }) => /^(counter|histogram)$/.test(String(type)))
    lastValues.delete(id)
    if (counters !== undefined) ended.push(counters)
  })

  /** Resolves when the worker has answered, has ended, or takes too long. */
  function ask(worker: Worker, id: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(done, ANSWER_TIMEOUT_MS)
      function done(): void {
        clearTimeout(timer)
        worker.off('message', onMessage).off('exit', done)
        resolve()
      }
      function onMessage({ metricsQuestion, values }: Partial<Answer>): void {
        if (metricsQuestion !== id || values === undefined) return
        lastValues.set(worker.id, values)
        done()
      }
      worker.on('message', onMessage).on('exit', done)
      worker.send({ metricsQuestion: id } satisfies Question, error => error && done())
    })
  }

  return async () => {
    const id = ++question
    const workers = Object.values(cluster.workers ?? {}).filter(worker => worker?.isConnected())
    await Promise.all(workers.map(worker => worker && ask(worker, id)))
    const ownValues = (await own.getMetricsAsJSON()).map(withStartTime)
    const sum = AggregatorRegistry.aggregate([ownValues, ...ended, ...lastValues.values()])
    const merged = ended.splice(0)
    ended.unshift(await AggregatorRegistry.aggregate(merged).getMetricsAsJSON())
    return sum.metrics()
  }
}
