// The metrics of `animal-store serve`: which process collects them, and which one listens for scrapes and health checks.

import cluster from 'node:cluster'
import { nameOf } from '../../database/open.ts'
import type { MetricsSource } from '../../metrics/listener.ts'
import type { Metrics, ProgramInfo } from '../../metrics/metrics.ts'
import type { Streams } from '../command.ts'
import type { Settings } from '../settings.ts'
import { readVersion } from '../version.ts'
import { findNewestBackup } from './daily-backups.ts'
import { listen } from './listen.ts'
import type { LogOutput, LogStream } from './log-stream.ts'

/** Without a port there are no metrics. */
type MetricsSettings = Settings<'metricsPort' | 'metricsHost' | 'logLevel' | 'backupFolder' | 'databaseUrl'>

/**
 * Called in a process that serves requests. Returns what collects its metrics, or undefined if there are none. A worker
 * gives its metrics to the primary process.
 */
export async function startMetrics(
  settings: MetricsSettings,
  say: Streams['say'],
  logStream: LogOutput,
): Promise<Metrics | undefined> {
  if (settings.metricsPort === undefined) return undefined
  // Imported only here, so that a service without metrics starts faster.
  const { createMetrics } = await import('../../metrics/metrics.ts')
  const metrics = createMetrics(logStream.droppedLines, cluster.isWorker ? undefined : describe(settings))
  if (cluster.isWorker) {
    const { answerPrimary } = await import('../../metrics/aggregation.ts')
    answerPrimary(metrics)
  } else await serveMetrics(settings, say, logStream, metrics)
  return metrics
}

/** Called in the primary process, before it starts the workers. */
export async function startMetricsOfWorkers(
  settings: MetricsSettings,
  say: Streams['say'],
  logStream: LogStream,
): Promise<void> {
  if (settings.metricsPort === undefined) return
  const { createAggregator } = await import('../../metrics/aggregation.ts')
  await serveMetrics(settings, say, logStream, createAggregator(describe(settings)))
}

/** What the program as a whole is, and not each of its processes. */
function describe({ backupFolder, databaseUrl }: MetricsSettings): ProgramInfo {
  const name = nameOf(databaseUrl)
  return {
    version: readVersion(),
    lastBackup: backupFolder === undefined ? undefined : () => findNewestBackup(backupFolder, name),
  }
}

async function serveMetrics(
  { metricsPort = 0, metricsHost, logLevel }: MetricsSettings,
  say: Streams['say'],
  logStream: LogStream,
  source: MetricsSource,
): Promise<void> {
  const { createMetricsServer } = await import('../../metrics/listener.ts')
  const { pino } = await import('pino')
  const log = pino({ level: logLevel, base: { listener: 'metrics' } }, logStream)
  const { server } = createMetricsServer(source, log)
  const address = await listen(server, metricsHost, metricsPort, '--metrics-port')
  // The listener must not keep the process alive if the service cannot start.
  server.unref()
  say(`The metrics are at ${address}/metrics (health checks: /livez and /readyz)`)
}
