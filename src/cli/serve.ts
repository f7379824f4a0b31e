// `animal-store serve`: starts the service, greets, and stops it on a signal.

import type { Environment } from '../api-key.ts'
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
    greet(service, settings.environment ?? 'production', streams)
    stopOnSignal(service)
    if (stopWithParent) signalWhenOrphaned()
  },
})

function greet({ address, firstKey }: Service, environment: Environment, { say }: Streams): void {
  say(`animal-store is listening on ${address} (${environment}); try ${address}/docs`)
  if (firstKey === undefined) return
  say('')
  say('This is the first run, so here is an API key. It is shown this once: only its digest is stored.')
  say('')
  say(`  ${firstKey}`)
  say('')
  say(`  curl -H 'Authorization: Bearer ${firstKey}' ${address}/v1/pets`)
  say('')
}

/** A terminal and npm each pass on the same Ctrl-C, so a SIGINT that comes at once is not a second one. */
function stopOnSignal(service: Service): void {
  const ECHO_MS = 100
  let stoppingSince: number | undefined
  function onSignal(signal: NodeJS.Signals): void {
    if (stoppingSince === undefined) {
      stoppingSince = performance.now()
      service.stop().then(
        () => process.exit(0),
        error => {
          console.error(error)
          process.exit(1)
        },
      )
    } else if (signal === 'SIGTERM' || performance.now() - stoppingSince > ECHO_MS) {
      process.exit(signal === 'SIGTERM' ? 143 : 130)
    }
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}

/** A shell that npm sends a signal to may end without passing it on, and would leave the service behind. */
function signalWhenOrphaned(): void {
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, 250).unref()
}
