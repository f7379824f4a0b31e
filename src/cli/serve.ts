// `animal-store serve`: starts the service, prints where it listens, and stops it on a signal.

import cluster from 'node:cluster'
import { systemClock } from '../clock.ts'
import { parsePostgresUrl } from '../database/postgres/url.ts'
import { createSharedRateLimiter } from '../http/api/rate-limit.ts'
import { command, type Streams } from './command.ts'
import { createFirstKey } from './first-key.ts'
import { createLogOutput } from './log-stream.ts'
import { defaultDatabase, withStore } from './open-store.ts'
import { type MetricsOptions, startMetrics, startMetricsOfWorkers } from './serve-metrics.ts'
import type { DatabaseAddress } from './setting-values.ts'
import type { Settings } from './settings.ts'
import { answerWorkers, askPrimary } from './shared-rate-limit.ts'
import { stopOnSignal, stopWithParentProcess } from './stop-signals.ts'
import { reportToPrimary, startWorkers } from './workers.ts'

const SETTING_NAMES = [
  'host',
  'port',
  'databaseUrl',
  'databaseConnections',
  'databaseWait',
  'environment',
  'productionUrl',
  'stagingUrl',
  'corsOrigins',
  'rateLimit',
  'trustProxy',
  'logLevel',
  'metricsPort',
  'metricsHost',
  'shutdownDelay',
  'workers',
  'stopWithParent',
  'apiKey',
] as const

type ServeSettings = Settings<(typeof SETTING_NAMES)[number]>

export const serve = command({
  name: 'serve',
  summary: 'Run the service.',
  settings: SETTING_NAMES,
  examples: ['serve', 'serve --port 9001 --workers auto', 'serve --database-url sqlite:/srv/animals.db'],
  findConflicts: ({ workers, databaseUrl }) =>
    workers > 1 && databaseUrl?.kind === 'sqlite-memory'
      ? ['--workers (WORKERS) needs a database that processes can share: use a file or PostgreSQL']
      : [],
  async run(settings, _operands, streams) {
    if (settings.workers > 1 && cluster.isPrimary) await startPrimary(settings, streams)
    else await startServing(settings, streams)
  },
})

/** Starts the primary process, which serves no requests itself, and its workers. */
async function startPrimary(settings: ServeSettings, streams: Streams): Promise<void> {
  const { apiKey, rateLimit, stopWithParent, workers } = settings
  await startMetricsOfWorkers(metricsOptions(settings, streams))
  if (rateLimit !== undefined) answerWorkers(rateLimit, workers)
  const { pino } = await import('pino')
  const logStream = createLogOutput(process.stdout, true)
  const started = await startWorkers(workers, pino({ level: settings.logLevel, base: null }, logStream))
  const stop = stopOnSignal({ ...started, stop: () => started.stop().then(logStream.flush) })
  if (stopWithParent) stopWithParentProcess(stop)
  try {
    const firstKey = apiKey === undefined ? await createSharedFirstKey(settings) : undefined
    printGreeting(started.address, firstKey, settings, streams)
  } catch (error) {
    started.kill()
    throw error
  }
}

/** Starts the service in this process, which is a worker or the only process. */
async function startServing(settings: ServeSettings, streams: Streams): Promise<void> {
  // Imported only here, so that the other commands start faster.
  const { startService } = await import('./service.ts')
  const logStream = createLogOutput(process.stdout, cluster.isWorker)
  const metrics = await startMetrics(metricsOptions(settings, streams), logStream.droppedLines)
  const service = await startService({
    ...settings,
    database: settings.databaseUrl,
    databaseWaitMs: settings.databaseWait,
    sharedRateLimiter:
      settings.rateLimit && cluster.isWorker
        ? createSharedRateLimiter(settings.rateLimit, askPrimary())
        : undefined,
    say: streams.say,
    shutdownDelayMs: settings.shutdownDelay,
    createsFirstKey: cluster.isPrimary,
    logStream,
    metrics,
  }).catch(error => {
    // The channel to the primary would keep this process alive.
    cluster.worker?.disconnect()
    throw error
  })
  const stop = stopOnSignal({ stop: () => service.stop().then(logStream.flush) })
  if (cluster.isWorker) {
    reportToPrimary(service.address, stop)
    return
  }
  if (settings.stopWithParent) stopWithParentProcess(stop)
  printGreeting(service.address, service.firstKey, settings, streams)
}

function metricsOptions({ metricsPort, metricsHost }: ServeSettings, { say }: Streams): MetricsOptions {
  return { port: metricsPort, host: metricsHost, say }
}

/** With several workers, the primary creates the first key, so that it is created and shown once. */
function createSharedFirstKey({ databaseUrl, environment }: ServeSettings): Promise<string | undefined> {
  return withStore({ databaseUrl, environment }, store => createFirstKey(store, environment, systemClock))
}

function printGreeting(
  address: string,
  firstKey: string | undefined,
  { databaseUrl, environment, workers }: ServeSettings,
  { say }: Streams,
): void {
  const database = databaseUrl ?? defaultDatabase(environment)
  const details = [environment, nameOf(database), ...(workers > 1 ? [`${workers} workers`] : [])].join(', ')
  say(`animal-store is listening on ${address} (${details}); open ${address}/ or ${address}/docs`)
  if (firstKey === undefined) return
  say('')
  say(
    'This is the first run, so here is an API key. It is shown only once: the database stores only its digest.',
  )
  say('')
  say(`  ${firstKey}`)
  say('')
  // Some shells read the brackets of an IPv6 address as a pattern for file names.
  const url = address.includes('[') ? `'${address}/v1/pets'` : `${address}/v1/pets`
  say(`  curl -H 'Authorization: Bearer ${firstKey}' ${url}`)
  say('')
}

/** Leaves out the user name and password. */
function nameOf(database: DatabaseAddress): string {
  if (database.kind === 'sqlite') return `sqlite:${database.path}`
  if (database.kind === 'sqlite-memory') return 'sqlite::memory:'
  return parsePostgresUrl(database.url).name
}
