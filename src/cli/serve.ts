// `animal-store serve`: starts the service, greets, and stops it on a signal.

import type { Environment } from '../api-key.ts'
import type { DatabaseAddress } from '../setting-values.ts'
import { defaultDatabase } from '../settings.ts'
import { command, type Streams } from './command.ts'
import { logStreamFor } from './log-stream.ts'
import type { Service } from './service.ts'

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
    'logLevel',
    'shutdownDelay',
    'stopWithParent',
    'apiKey',
  ],
  async run({ databaseUrl, shutdownDelay, stopWithParent, ...settings }, _operands, streams) {
    // Loaded here, so that the other commands need not wait for the web framework.
    const { startService } = await import('./service.ts')
    const service = await startService({
      ...settings,
      database: databaseUrl,
      shutdownDelayMs: shutdownDelay,
      logStream: logStreamFor(process.stdout),
    })
    const stop = stopOnSignal(service)
    if (stopWithParent) whenOrphaned(stop)
    const { environment = 'production' } = settings
    greet(service, environment, databaseUrl ?? defaultDatabase(environment), streams)
  },
})

function greet(
  { address, firstKey }: Service,
  environment: Environment,
  database: DatabaseAddress,
  { say }: Streams,
): void {
  say(`animal-store is listening on ${address} (${environment}, ${nameOf(database)}); try ${address}/docs`)
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
function stopOnSignal(service: Service): () => void {
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
    if (isSecond) process.exit(signal === 'SIGTERM' ? 143 : 130)
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
