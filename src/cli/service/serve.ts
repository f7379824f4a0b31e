// `animal-store serve`: starts the service, prints where it listens, and stops it on a signal.

import cluster from 'node:cluster'
import { isActive } from '../../api-key.ts'
import { isInMemory, nameOf } from '../../database/open.ts'
import { createSharedRateLimiter } from '../../http/api/rate-limit.ts'
import type { Store } from '../../store.ts'
import { command, print, type Streams } from '../command.ts'
import { showFirstKey } from '../commands/keys.ts'
import { SERVICE_SETTING_NAMES, SETTINGS, type ServiceSettings } from '../settings.ts'
import { readVersion } from '../version.ts'
import { withStore } from '../with-store.ts'
import { type DailyBackups, startDailyBackups } from './daily-backups.ts'
import { checkPort } from './listen.ts'
import { createLogOutput } from './log-stream.ts'
import { startMetrics, startMetricsOfWorkers } from './serve-metrics.ts'
import { stopOnSignal } from './stop-signals.ts'
import {
  createGrantRequester,
  followPrimary,
  grantToWorkers,
  killWorkers,
  startWorkers,
  tellPrimaryOfExpiry,
  warnOfExpiringKeys,
} from './workers.ts'

export const serve = command({
  name: 'serve',
  summary: 'Run the service.',
  settings: SERVICE_SETTING_NAMES,
  descriptions: {
    databaseUrl: SETTINGS.databaseUrl.description.replace('sqlite:<path>', 'sqlite:<path>, sqlite::memory:'),
  },
  examples: ['serve', 'serve --port 9001 --workers auto', 'serve --database-url sqlite:/srv/animals.db'],
  findConflicts({ workers, databaseUrl, backupFolder, host, port, metricsHost, metricsPort }) {
    const problems: string[] = []
    if (workers > 1 && isInMemory(databaseUrl))
      problems.push('--workers (WORKERS) needs a database that processes can share: use a file or PostgreSQL')
    if (backupFolder !== undefined && databaseUrl.kind !== 'sqlite')
      problems.push(
        '--backup-folder (BACKUP_FOLDER) is for a database in a SQLite file: back up PostgreSQL with pg_dump, or with pg_basebackup and its archived WAL',
      )
    if (port !== 0 && port === metricsPort && host === metricsHost)
      problems.push('--metrics-port (METRICS_PORT) must be another port than --port (PORT)')
    return problems
  },
  async run(settings, _operands, streams) {
    // A service that cannot listen must not create a database.
    if (cluster.isPrimary) await checkPort(settings.host, settings.port)
    if (settings.workers > 1 && cluster.isPrimary) await startPrimary(settings, streams)
    else await startServing(settings, streams)
  },
})

const LOOPBACK = /^(127\.[\d.]+|::1|localhost)$/

/** Starts the primary process, which serves no requests itself, and its workers. */
async function startPrimary(settings: ServiceSettings, streams: Streams): Promise<void> {
  const { rateLimit, workers } = settings
  const { pino } = await import('pino')
  const logStream = createLogOutput(process.stdout, true)
  await startMetricsOfWorkers(settings, streams.say, logStream)
  if (rateLimit !== undefined) grantToWorkers(rateLimit, workers)
  const log = pino({ level: settings.logLevel, base: null }, logStream)
  warnOfExpiringKeys(log)
  // Until the workers have started, there is nothing to finish.
  let stop = async () => killWorkers()
  stopOnSignal({ stop: () => stop().then(logStream.flush), kill: killWorkers }, log)
  const started = await startWorkers(workers, log)
  const greeted = Promise.withResolvers<void>()
  let backups: DailyBackups | undefined
  stop = () => greeted.promise.then(() => Promise.all([started.stop(), backups?.stop()])).then(() => {})
  try {
    if (settings.apiKey !== undefined) await greet(started.address, settings, streams)
    else
      await withStore(settings.databaseUrl, { ...streams, waitMs: settings.databaseWait }, store =>
        greet(started.address, settings, streams, store),
      )
    started.setReady()
    backups = startDailyBackups(settings, settings.databaseUrl, log)
    greeted.resolve()
  } catch (error) {
    started.kill()
    throw error
  }
}

/** Starts the service in this process, which is a worker or the only process. */
async function startServing(settings: ServiceSettings, streams: Streams): Promise<void> {
  // Imported only here, so that the other commands start faster.
  const { startService } = await import('./service.ts')
  const logStream = createLogOutput(process.stdout, cluster.isWorker)
  const metrics = await startMetrics(settings, streams.say, logStream)
  const service = await startService({
    ...settings,
    database: settings.databaseUrl,
    // The primary process makes them.
    backupFolder: cluster.isWorker ? undefined : settings.backupFolder,
    shareRateLimit: cluster.isWorker
      ? (limit, warn) =>
          createSharedRateLimiter(limit, { ask: createGrantRequester(), workers: settings.workers, warn })
      : undefined,
    onExpiringKey: cluster.isWorker ? tellPrimaryOfExpiry : undefined,
    say: streams.say,
    logStream,
    metrics,
  }).catch(error => {
    // The channel to the primary would keep this process alive.
    cluster.worker?.disconnect()
    throw error
  })
  const greeted = Promise.withResolvers<void>()
  const stop = stopOnSignal(
    { stop: () => greeted.promise.then(service.stop).then(logStream.flush) },
    service.log,
  )
  try {
    if (cluster.isWorker) followPrimary(service, stop)
    else {
      await greet(
        service.address,
        settings,
        streams,
        settings.apiKey === undefined ? service.store : undefined,
      )
      service.setReady()
    }
    greeted.resolve()
  } catch (error) {
    await service.stop()
    throw error
  }
}

/**
 * Prints where the service listens and, if it gets the store and there is no key yet, the first key. Called when signals
 * are handled, and before the service is ready: no key may be lost between its creation and its display.
 */
async function greet(
  address: string,
  { databaseUrl, environment, workers, host, trustProxy }: ServiceSettings,
  { say, stderr }: Streams,
  store?: Store,
): Promise<void> {
  if (!LOOPBACK.test(host) && trustProxy === 0)
    say(
      'The service listens beyond this machine, and trusts no proxy. If a proxy is in front, set --trust-proxy (TRUST_PROXY): otherwise the log has the address of the proxy for every client.',
    )
  const details = [environment, nameOf(databaseUrl), ...(workers > 1 ? [`${workers} workers`] : [])]
  const greeting = `animal-store ${readVersion()} is listening on ${address} (${details.join(', ')}); open ${address}/ or ${address}/docs`
  // Some shells read the brackets of an IPv6 address as a pattern for file names.
  const url = address.includes('[') ? `'${address}/v1/pets'` : `${address}/v1/pets`
  const show = (key: string) =>
    print(
      stderr,
      `${greeting}

This is the first run, so here is an API key. It is shown only once: the database stores only its digest.

  ${key}

  curl -H 'Authorization: Bearer ${key}' ${url}
`,
    )
  const hasShown = store !== undefined && (await showFirstKey(store, environment, show))
  if (hasShown) return
  say(greeting)
  const keys = (await store?.listKeys(environment)) ?? []
  if (store !== undefined && !keys.some(key => isActive(key, Date.now())))
    say(
      `No key is active in ${environment}. Create one, with the same database URL and environment: npx animal-store keys create --name NAME`,
    )
}
