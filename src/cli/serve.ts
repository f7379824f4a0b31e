// `animal-store serve`: starts the service, greets, and stops it on a signal.

import cluster from 'node:cluster'
import { flushCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import type { Environment } from '../api-key.ts'
import { systemClock } from '../clock.ts'
import { type DatabaseAddress, defaultDatabase } from '../setting-values.ts'
import { SettingsError } from '../settings.ts'
import { command, type Streams } from './command.ts'
import { makeFirstKey } from './first-key.ts'
import { logStreamFor } from './log-stream.ts'
import { withLastingStore } from './open-store.ts'
import { reportToWatcher, startWorkers } from './workers.ts'

export const serve = command({
  name: 'serve',
  summary: 'Run the service.',
  settings: [
    'host',
    'port',
    'databaseUrl',
    'environment',
    'productionUrl',
    'stagingUrl',
    'corsOrigins',
    'logLevel',
    'shutdownDelay',
    'workers',
    'stopWithParent',
    'apiKey',
  ],
  async run({ databaseUrl, shutdownDelay, workers = 1, stopWithParent, ...settings }, _operands, streams) {
    if (workers > 1 && databaseUrl?.kind === 'sqlite-memory') {
      throw new SettingsError([
        '--workers (WORKERS) needs a database that processes can share: name a file, or a PostgreSQL server',
      ])
    }
    const { environment = 'production' } = settings
    const greetWith = (address: string, firstKey: string | undefined) =>
      greet(
        { address, firstKey, environment, database: databaseUrl ?? defaultDatabase(environment), workers },
        streams,
      )

    if (workers > 1 && cluster.isPrimary) {
      const started = await startWorkers(workers, streams)
      const stop = stopOnSignal(started)
      if (stopWithParent) whenOrphaned(stop)
      try {
        const needsKey = settings.apiKey === undefined
        greetWith(started.address, needsKey ? await firstKeyOf({ databaseUrl, environment }) : undefined)
      } catch (error) {
        started.kill()
        throw error
      }
      return
    }
    // Loaded here, so that the other commands need not wait for it.
    const { startService } = await import('./service.ts')
    keepRequestsYoung()
    const service = await startService({
      ...settings,
      database: databaseUrl,
      shutdownDelayMs: shutdownDelay,
      makesFirstKey: cluster.isPrimary,
      logStream: logStreamFor(process.stdout),
    }).catch(error => {
      // Else the way to the watching process would keep this one alive.
      cluster.worker?.disconnect()
      throw error
    })
    const stop = stopOnSignal(service)
    if (cluster.isWorker) reportToWatcher(service.address, stop)
    else {
      if (stopWithParent) whenOrphaned(stop)
      greetWith(service.address, service.firstKey)
    }
  },
})

/**
 * What a connection is made of lives long. V8 may conclude the same of all that is made in the same places, requests
 * included, and make it where only a full garbage collection finds it, for as long as the process lives
 * (docs/performance.md). Node.js warns of flags that are changed late; this one is only looked at when code is compiled
 * and when garbage was collected. What was compiled so far is kept first: it is only taken up under the same flags.
 */
function keepRequestsYoung(): void {
  flushCompileCache()
  setFlagsFromString('--no-allocation-site-pretenuring')
}

/** Made by the one process that all workers have in common, so that it is shown once. */
async function firstKeyOf(target: {
  databaseUrl: DatabaseAddress | undefined
  environment: Environment
}): Promise<string | undefined> {
  let secret: string | undefined
  await withLastingStore(target, false, async (store, environment) => {
    secret = await makeFirstKey(store, environment, systemClock)
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

function greet({ address, firstKey, environment, database, workers }: Greeting, { say }: Streams): void {
  const what = [environment, nameOf(database), ...(workers > 1 ? [`${workers} workers`] : [])].join(', ')
  say(`animal-store is listening on ${address} (${what}); open ${address}/ or ${address}/docs`)
  if (firstKey === undefined) return
  say('')
  say('This is the first run, so here is an API key. It is shown this once: only its digest is stored.')
  say('')
  say(`  ${firstKey}`)
  say('')
  say(`  curl -H 'Authorization: Bearer ${firstKey}' ${address}/v1/pets`)
  say('')
}

/** Which database it is, without the password that its address may hold. */
function nameOf(database: DatabaseAddress): string {
  if (database.kind === 'sqlite') return `sqlite:${database.path}`
  if (database.kind === 'sqlite-memory') return 'sqlite::memory:'
  const { host, pathname } = new URL(database.url)
  return `postgres://${host}${pathname}`
}

/**
 * The first signal stops the service in good order, a second one at once. A terminal, a supervisor, npm and the shell
 * below it may each pass on the same one, so what comes within a moment of the first is not a second.
 */
function stopOnSignal(service: { stop(): Promise<void>; kill?(): void }): () => void {
  const ECHO_MS = 100
  let stoppingSince: number | undefined

  function stop(): void {
    if (stoppingSince !== undefined) return
    stoppingSince = performance.now()
    service.stop().then(
      () => process.exit(0),
      error => {
        console.error(error)
        process.exit(1)
      },
    )
  }

  function onSignal(signal: NodeJS.Signals): void {
    const isSecond = stoppingSince !== undefined && performance.now() - stoppingSince > ECHO_MS
    if (isSecond) {
      service.kill?.()
      process.exit(signal === 'SIGTERM' ? 143 : 130)
    }
    stop()
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  return stop
}

/** A shell that npm sends a signal to may end without passing it on, and would leave the service behind. */
function whenOrphaned(stop: () => void): void {
  const parent = process.ppid
  setInterval(() => process.ppid === parent || stop(), 250).unref()
}
