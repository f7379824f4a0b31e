// Starts and stops the service. This is the one place that connects all parts.

import type { Server } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type Logger, pino } from 'pino'
import { type Clock, systemClock } from '../../clock.ts'
import { WRITE_LIMITS } from '../../database/batching.ts'
import { type DatabaseAddress, openServiceStore, type ServiceStoreOptions } from '../../database/open.ts'
import { isUnavailable, unavailable } from '../../error.ts'
import { createKeyUses, type ExpiringKey, warnOfExpiry } from '../../http/api/key-uses.ts'
import { type BaseUrls, openApiDocument } from '../../http/api/openapi-document.ts'
import { createRateLimiter, type RateLimit, type RateLimiter } from '../../http/api/rate-limit.ts'
import { createApp } from '../../http/app.ts'
import { createOutageLog } from '../../http/outage-log.ts'
import { renderJson } from '../../json.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import type { Store, Warn } from '../../store.ts'
import { createPages } from '../../web/pages.ts'
import { DEFAULT_SERVICE_SETTINGS, type ServiceSettings } from '../settings.ts'
import { startDailyBackups } from './daily-backups.ts'
import { listen } from './listen.ts'
import type { LogStream } from './log-stream.ts'
import { STOP_LIMITS } from './stop-signals.ts'

/** While it is starting, it serves requests, but load balancers should wait. */
type ServiceState = 'starting' | 'ready' | 'stopping'

/** How long a stop waits until the uses of keys are stored. */
const KEY_USES_TIMEOUT_MS = 1_000

/** How long the result of a check of the database is kept. */
const CHECK_RESULT_MS = 250

export interface ServiceOptions extends Partial<Omit<ServiceSettings, 'databaseUrl' | 'workers'>> {
  readonly database: DatabaseAddress
  /** How long a request waits for PostgreSQL. */
  readonly databaseTimeouts?: ServiceStoreOptions['timeouts']
  /** Shares the limit with the other workers. By default, it is for this process alone. */
  readonly shareRateLimit?: ((limit: RateLimit, warn: Warn) => RateLimiter) | undefined
  /** Gets a key that is used and expires soon, once a day. By default, this process logs a warning. */
  readonly onExpiringKey?: ((key: ExpiringKey) => void) | undefined
  readonly clock?: Clock
  readonly logStream: LogStream
  readonly metrics?: Metrics | undefined
  /** Prints a message for a person. */
  readonly say?: (text: string) => void
}

export interface Service {
  /** The URL that it listens on, such as `http://127.0.0.1:8080`. */
  readonly address: string
  readonly store: Store
  readonly log: Logger
  /** From now on `/readyz` reports what it finds. Until then it fails. */
  setReady(): void
  /** Fails readiness, keeps serving for the shutdown delay, finishes the requests in flight, and closes. */
  stop(): Promise<void>
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const { clock = systemClock, logStream, metrics, say = () => {} } = options
  const settings = { ...DEFAULT_SERVICE_SETTINGS, ...options }
  const { environment, productionUrl, stagingUrl, rateLimit } = settings
  const log = pino({ level: settings.logLevel, base: null }, logStream)
  const store = await openServiceStore(options.database, {
    clock,
    connections: settings.databaseConnections,
    timeouts: options.databaseTimeouts,
    waitMs: settings.databaseWait,
    say,
    log,
    onCommit: metrics?.observeCommit,
  })
  let state: ServiceState = 'starting'
  let address = ''

  /** If no public URL is configured for the service's own environment, its own address is published. */
  function document() {
    const own: BaseUrls = { [environment]: `${address}/v1` }
    return openApiDocument({
      production: productionUrl ?? own.production,
      staging: stagingUrl ?? own.staging,
    })
  }

  const checkDatabase = shareCheck(() => store.ping())
  const outages = createOutageLog(log, checkDatabase)
  async function checkReadiness(): Promise<void> {
    if (state !== 'ready') throw unavailable({ message: `The service is ${state}.` })
    await checkDatabase()
  }

  /** For the listener of the metrics, whose requests the application does not see. */
  async function checkReadinessAndLog(): Promise<void> {
    try {
      await checkReadiness()
    } catch (error) {
      if (isUnavailable(error) && error.cause !== undefined) outages.failed(error)
      throw error
    }
  }
  const keyUses = createKeyUses({
    store,
    environment,
    warn: message => log.warn(message),
    onExpiring: options.onExpiringKey ?? (key => warnOfExpiry(log, key)),
  })
  const { server, closeAll, connectionCount } = createApp({
    store,
    outages,
    checkReadiness,
    clock,
    environment,
    basePath: basePathOf(environment === 'production' ? productionUrl : stagingUrl),
    extraKey: settings.apiKey,
    onKeyUse: keyUses.note,
    rateLimiter:
      rateLimit &&
      (options.shareRateLimit?.(rateLimit, message => log.warn(message)) ?? createRateLimiter(rateLimit)),
    corsOrigins: settings.corsOrigins,
    trustedProxies: settings.trustProxy,
    log,
    writeLogLine: log.isLevelEnabled('info') ? line => logStream.write(line) : undefined,
    onRequest: metrics?.observeRequest,
    documents: [
      { path: '/openapi.json', mediaType: 'application/json', body: () => `${renderJson(document(), 2)}\n` },
      ...createPages({ environment, document }),
    ],
    isAccepting: () => state !== 'stopping',
    isQueueFull: () => store.writesWaiting() >= WRITE_LIMITS.queueLength,
  })
  const { writesWaiting } = store
  metrics?.attach({
    connections: connectionCount,
    writesWaiting,
    isOutage: outages.isOpen,
    checkDatabase,
    checkReadiness: checkReadinessAndLog,
  })
  try {
    address = await listen(server, settings.host, settings.port)
    log.info(`listening on ${address}`)
  } catch (error) {
    await close(server)
    await store.close()
    throw error
  }

  const backups = startDailyBackups(settings, options.database, log, clock)

  return {
    address,
    store,
    log,
    setReady() {
      if (state === 'starting') state = 'ready'
    },
    async stop() {
      const deadline = performance.now() + STOP_LIMITS.closeConnectionsMs
      state = 'stopping'
      log.info('stopping')
      const backupsStopped = backups?.stop()
      await delay(settings.shutdownDelay)
      const timer = setTimeout(closeAll, deadline - performance.now())
      await close(server)
      clearTimeout(timer)
      await Promise.race([keyUses.flush(), delay(KEY_USES_TIMEOUT_MS, undefined, { ref: false })])
      await store.close()
      await backupsStopped
      log.info('stopped')
    },
  }
}

/** All that ask share one check and its result, so that health checks cost little however often they come. */
function shareCheck(check: () => Promise<void>): () => Promise<void> {
  let shared: Promise<void> | undefined
  function forgetLater(): void {
    setTimeout(() => {
      shared = undefined
    }, CHECK_RESULT_MS).unref()
  }
  return () => {
    if (shared === undefined) {
      shared = check()
      shared.then(forgetLater, forgetLater)
    }
    return shared
  }
}

/** Idle connections close at once, the others after their request. */
function close(server: Server): Promise<void> {
  return new Promise(resolve => server.close(() => resolve()))
}

/** `Location` and `Link` have no host, so only the path matters. */
function basePathOf(publicUrl: string | undefined): string {
  return publicUrl === undefined ? '/v1' : new URL(publicUrl).pathname
}
