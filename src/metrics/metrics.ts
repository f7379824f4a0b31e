// The metrics of one process, in the text format of Prometheus. No label contains a key, a name or an address.

import { setTimeout as delay } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { unavailable } from '../error.ts'
import { isDeprecated, OPERATIONS } from '../http/api/operations.ts'

const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20]

/** The largest batch has 256 writes (src/database/batching.ts). */
const WRITES_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256]

const DATABASE_TIMEOUT_MS = 1_000

/** Every key has a time series of its own. Further keys are counted together. */
const MAX_KEY_IDS = 1_000
const OTHER_KEYS = 'other'

/** What the metrics ask the service. */
interface Sources {
  readonly connections: () => number
  readonly writesWaiting: () => number
  /** Whether an outage of the database is open, as the log has it. */
  readonly isOutage: () => boolean
  /** Rejects if the database cannot be used. */
  readonly checkDatabase: () => Promise<void>
  /** Rejects with `unavailable` if the service should get no requests. */
  readonly checkReadiness: () => Promise<void>
}

/** What is the same in all processes of a service, so that only one of them reports it. */
export interface ProgramInfo {
  readonly version: string
  /** Returns the time of the newest backup, or undefined if there is none. Undefined without daily backups. */
  readonly lastBackup?: (() => Promise<number | undefined>) | undefined
}

export type MetricValues = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

export type Metrics = ReturnType<typeof createMetrics>

export const CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

/** Adds what only one process of a service reports. */
export function addProgramInfo(registers: Registry[], { version, lastBackup }: ProgramInfo): void {
  new Gauge({
    name: 'animal_store_build_info',
    help: 'Which version of animal-store runs, on which version of Node.js. The value is always 1.',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version, node: process.versions.node }, 1)
  if (lastBackup === undefined) return
  new Gauge({
    name: 'animal_store_last_backup_timestamp_seconds',
    help: 'When the newest backup in the folder of the daily backups was made, in seconds since 1970; 0 if there is none.',
    registers,
    async collect() {
      this.set(((await lastBackup()) ?? 0) / 1_000)
    },
  })
}

/** `droppedLogLines` returns how many lines could not be written. A worker has no information about the program. */
export function createMetrics(droppedLogLines: () => number, info?: ProgramInfo) {
  const registry = new Registry()
  const registers = [registry]
  let sources: Sources | undefined
  collectDefaultMetrics({ register: registry })
  if (info !== undefined) addProgramInfo(registers, info)

  const durations = new Histogram({
    name: 'animal_store_http_request_duration_seconds',
    help: 'How long requests took until they were answered, by operation and status.',
    labelNames: ['operation', 'status'],
    buckets: DURATION_BUCKETS,
    registers,
  })
  // These series exist before the first request, so that Prometheus can compute a rate from that request on.
  for (const { id, success } of OPERATIONS) durations.zero({ operation: id, status: success })

  const writesPerCommit = new Histogram({
    name: 'animal_store_creations_per_commit',
    help: 'How many writes (creations, changes and removals) were stored together in one commit.',
    buckets: WRITES_BUCKETS,
    registers,
  })
  new Gauge({
    name: 'animal_store_creations_waiting',
    help: 'How many writes (creations, changes and removals) wait in the queue for the next commit.',
    registers,
    collect() {
      this.set(sources?.writesWaiting() ?? 0)
    },
  })
  new Gauge({
    name: 'animal_store_connections',
    help: 'How many connections are open.',
    registers,
    collect() {
      this.set(sources?.connections() ?? 0)
    },
  })
  new Gauge({
    name: 'animal_store_database_up',
    help: 'Whether the database can be used: 1 or 0, checked when this value is read.',
    registers,
    aggregator: 'min',
    async collect() {
      this.set(await checkDatabase(sources))
    },
  })
  new Gauge({
    name: 'animal_store_outage',
    help: 'Whether the database fails to serve requests: 1 from the line of the log that says so to the one that says it is over.',
    registers,
    aggregator: 'max',
    collect() {
      this.set(sources?.isOutage() ? 1 : 0)
    },
  })
  const deprecatedByKey = new Map<string, number>()
  new Counter({
    name: 'animal_store_deprecated_requests_total',
    help: 'Requests to deprecated operations (getPet), by the id of the API key.',
    labelNames: ['key_id'],
    registers,
    collect() {
      this.reset()
      for (const [key_id, count] of deprecatedByKey) this.inc({ key_id }, count)
    },
  })
  new Counter({
    name: 'animal_store_log_lines_dropped_total',
    help: 'Log lines that could not be written.',
    registers,
    collect() {
      this.reset()
      this.inc(droppedLogLines())
    },
  })

  function countDeprecated(keyId: string): void {
    const isTooMany = deprecatedByKey.size >= MAX_KEY_IDS && !deprecatedByKey.has(keyId)
    const label = isTooMany ? OTHER_KEYS : keyId
    deprecatedByKey.set(label, (deprecatedByKey.get(label) ?? 0) + 1)
  }

  return {
    /** `keyId` is the id of the API key, if the request had a valid one. */
    observeRequest(operation: string, status: number, durationMs: number, keyId: string | undefined): void {
      durations.observe({ operation, status }, durationMs / 1_000)
      if (isDeprecated(operation) && keyId !== undefined) countDeprecated(keyId)
    },

    observeCommit: (writes: number) => writesPerCommit.observe(writes),

    /** Called once the service has started. Until then, its gauges are 0, and it is not ready. */
    attach(given: Sources): void {
      sources = given
    },

    async checkReadiness(): Promise<void> {
      if (sources === undefined) throw unavailable({ message: 'The service is starting.' })
      await sources.checkReadiness()
    },

    /** Returns the values of this process. They can be sent to another one. */
    values: () => registry.getMetricsAsJSON(),

    /** Returns the values in the text format of Prometheus. */
    render: () => registry.metrics(),
  }
}

async function checkDatabase(sources: Sources | undefined): Promise<number> {
  if (sources === undefined) return 0
  const answer = sources.checkDatabase().then(
    () => 1,
    () => 0,
  )
  return Promise.race([answer, delay(DATABASE_TIMEOUT_MS, 0, { ref: false })])
}
