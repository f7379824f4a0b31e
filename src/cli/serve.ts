// `animal-store serve`: starts the service, prints where it listens, and stops it on a signal.

import cluster from 'node:cluster'
import { flushCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import type { Environment } from '../api-key.ts'
import { systemClock } from '../clock.ts'
import { parsePostgresUrl } from '../database/postgres/url.ts'
import { command, type Streams } from './command.ts'
import { createFirstKey } from './first-key.ts'
import { logStreamFor } from './log-stream.ts'
import { defaultDatabase, type Target, withStore } from './open-store.ts'
import { SettingsError } from './read-settings.ts'
import { startMetrics, startMetricsOfWorkers } from './serve-metrics.ts'
import type { DatabaseAddress } from './setting-values.ts'
import { stopOnSignal, stopWithParentProcess } from './stop-signals.ts'
import { reportToPrimary, startWorkers } from './workers.ts'

export const serve = command({
  name: 'serve',
  summary: 'Run the service.',
  settings: [
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
  ],
  examples: ['serve', 'serve --port 9001 --workers auto', 'serve --database-url sqlite:/srv/animals.db'],
  async run(
    {
      databaseUrl,
      databaseWait,
      metricsPort,
      metricsHost,
      shutdownDelay,
      workers,
      stopWithParent,
      ...settings
    },
    _operands,
    streams,
  ) {
    if (workers > 1 && databaseUrl?.kind === 'sqlite-memory') {
      throw new SettingsError([
        '--workers (WORKERS) needs a database that processes can share: use a file or PostgreSQL',
      ])
    }
    const { environment } = settings
    const database = databaseUrl ?? defaultDatabase(environment)
    const greet = (address: string, firstKey: string | undefined) =>
      printGreeting({ address, firstKey, environment, database, workers }, streams)

    const metricsOptions = { port: metricsPort, host: metricsHost, say: streams.say }

    if (workers > 1 && cluster.isPrimary) {
      await startMetricsOfWorkers(metricsOptions)
      const started = await startWorkers(workers, streams)
      const stop = stopOnSignal(started)
      if (stopWithParent) stopWithParentProcess(stop)
      try {
        const needsKey = settings.apiKey === undefined
        greet(
          started.address,
          needsKey ? await createSharedFirstKey({ databaseUrl, environment }) : undefined,
        )
      } catch (error) {
        started.kill()
        throw error
      }
      return
    }
    // Imported only here, so that the other commands start faster.
    const { startService } = await import('./service.ts')
    disablePretenuring()
    const logStream = logStreamFor(process.stdout)
    const metrics = await startMetrics(metricsOptions, logStream.droppedLines)
    const service = await startService({
      ...settings,
      database: databaseUrl,
      databaseWaitMs: databaseWait,
      processes: workers,
      say: streams.say,
      shutdownDelayMs: shutdownDelay,
      createsFirstKey: cluster.isPrimary,
      logStream,
      metrics,
    }).catch(error => {
      // The channel to the primary would keep this process alive.
      cluster.worker?.disconnect()
      throw error
    })
    const stop = stopOnSignal(service)
    if (cluster.isWorker) reportToPrimary(service.address, stop)
    else {
      if (stopWithParent) stopWithParentProcess(stop)
      greet(service.address, service.firstKey)
    }
  },
})

/**
 * Connections live long and requests do not, but the same code allocates both. V8 may decide to allocate both in the
 * old generation, where only a full garbage collection frees them, and then the service stays a third to a half slower
 * (bench/notes.md). Node.js advises against changing V8 flags at run time; this one is only read when code is compiled
 * or garbage is collected. The compile cache is saved first, because it is only valid for the flags it was written
 * with.
 */
function disablePretenuring(): void {
  flushCompileCache()
  setFlagsFromString('--no-allocation-site-pretenuring')
}

/** With several workers, the primary creates the first key, so that it is created and shown once. */
async function createSharedFirstKey(target: Target): Promise<string | undefined> {
  let secret: string | undefined
  await withStore(target, false, async (store, environment) => {
    secret = await createFirstKey(store, environment, systemClock)
  })
  return secret
}

interface Greeting {
  readonly address: string
  readonly firstKey: string | undefined
  readonly environment: Environment
  readonly database: DatabaseAddress
  readonly workers: number
}

function printGreeting(
  { address, firstKey, environment, database, workers }: Greeting,
  { say }: Streams,
): void {
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
  say(`  curl -H 'Authorization: Bearer ${firstKey}' ${address}/v1/pets`)
  say('')
}

/** Leaves out the user name and password. */
function nameOf(database: DatabaseAddress): string {
  if (database.kind === 'sqlite') return `sqlite:${database.path}`
  if (database.kind === 'sqlite-memory') return 'sqlite::memory:'
  return parsePostgresUrl(database.url).name
}
