// A histogram of request durations that is cheap to add to: about 0.1 µs for an observation. The one of prom-client
// takes 1.3 to 1.7 µs on the same machine, because it checks and hashes the labels each time.

import type { Metric, Registry } from 'prom-client'

/** The observations with the same labels. */
export interface Series {
  observe(value: number): void
}

export interface HistogramOptions {
  readonly registry: Registry
  readonly name: string
  readonly help: string
  /** The upper bounds, in ascending order. */
  readonly buckets: readonly number[]
}

interface Sample {
  readonly metricName: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Returns a function that adds a series. Every combination of labels must be added once only. */
export function createHistogram({ registry, name, help, buckets }: HistogramOptions) {
  const samplers: (() => Sample[])[] = []

  const metric = {
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    get: async () => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: samplers.flatMap(sample => sample()),
    }),
  }
  // The registry needs no more of a metric than this: prom-client registers sums over processes in the same way.
  registry.registerMetric(metric as unknown as Metric)

  return (labels: Readonly<Record<string, string>>): Series => {
    /** How many values are in each bucket and in no smaller one. The last is for those above all bounds. */
    const counts = new Array<number>(buckets.length + 1).fill(0)
    let sum = 0
    samplers.push(() => {
      let total = 0
      const cumulative = counts.map((count, index): Sample => {
        total += count
        const le = String(buckets[index] ?? '+Inf')
        return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: total }
      })
      return [
        ...cumulative,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: total },
      ]
    })
    return {
      observe(value) {
        let index = 0
        while (index < buckets.length && value > (buckets[index] as number)) index++
        counts[index] = (counts[index] as number) + 1
        sum += value
      },
    }
  }
}
