// A flood of well-formed keys that do not exist, on PostgreSQL: what it costs, and whether known keys are served.
//
//   node test/faults/unknown-keys.ts [--quick]

import { text } from 'node:stream/consumers'
import { median } from '../../bench/measure.ts'
import { cpuMicrosOfServer, usageOf } from '../../bench/usage.ts'
import { serve } from '../support/command.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { API_KEY, type Scope, temporaryFolder } from '../support/service.ts'
import { send } from './creations.ts'
import { type Figure, type Options, report } from './figure.ts'
import { inScope, startProgram } from './processes.ts'

const CONNECTIONS = 64
const MAX_TIMES = 2
const SECONDS = 3

interface Service {
  readonly address: string
  readonly pid: number
  readonly postgres: PostgresServer
}

export function unknownKeys({ quick }: Options): Promise<Figure[]> {
  return inScope(async scope => {
    const postgres = await startPostgres([])
    scope.after(() => postgres.stop())
    const env = { ANIMAL_STORE_API_KEY: API_KEY, DATABASE_URL: postgres.url }
    const { address, child } = await serve(scope, ['--log-level', 'warn'], {
      cwd: temporaryFolder(scope),
      env,
    })
    const service = { address, pid: child.pid ?? 0, postgres }
    // Warms up: the first seconds would measure the compiler.
    for (const kind of ['no-key', 'unknown-keys']) await flood(scope, service, kind, 2)
    const times: number[] = []
    const cpuMicros: number[] = []
    // In turns, because the machine may be slow for a while.
    for (let round = 1; round <= (quick ? 1 : 5); round++) {
      const without = await flood(scope, service, 'no-key', SECONDS)
      const unknown = await flood(scope, service, 'unknown-keys', SECONDS)
      times.push(unknown / without)
      cpuMicros.push(unknown)
    }
    // Only now, because these requests cost much more than those of the flood.
    const { sent, served } = await sendKnownKey(address, flood(scope, service, 'unknown-keys', SECONDS))
    return [
      {
        promise: `a flood of unknown keys costs at most ${MAX_TIMES} times the CPU of one without keys (PostgreSQL included)`,
        measured: `${median(times).toFixed(2)} times, ${median(cpuMicros).toFixed(0)} µs per request`,
        holds: median(times) <= MAX_TIMES,
        isSpeed: true,
      },
      {
        promise: 'meanwhile, every request with a known key is served',
        measured: `${served} of ${sent}`,
        holds: sent > 0 && served === sent,
      },
    ]
  })
}

/** Returns the CPU time of the service and of PostgreSQL per request. */
async function flood(
  scope: Scope,
  { address, pid, postgres }: Service,
  kind: string,
  seconds: number,
): Promise<number> {
  const cpuMicros = () => usageOf(pid).cpuMicros + cpuMicrosOfServer(postgres.processes)
  const before = cpuMicros()
  const args = [address, String(CONNECTIONS), String(seconds), kind, '']
  const output = await text(startProgram(scope, 'load-generator.ts', args).stdout)
  const answers = JSON.parse(output) as Record<string, number>
  return (cpuMicros() - before) / ((answers['401'] ?? 0) + (answers['503'] ?? 0))
}

/** Sends requests with a known key, one after the other, until the flood ends. */
async function sendKnownKey(
  address: string,
  flooded: Promise<unknown>,
): Promise<{ readonly sent: number; readonly served: number }> {
  let isFlooded = true
  flooded.then(() => {
    isFlooded = false
  })
  let sent = 0
  let served = 0
  while (isFlooded) {
    sent++
    if ((await send(address, false, 'GET', '/v1/pets'))?.status === 200) served++
  }
  return { sent, served }
}

if (import.meta.main) await report(unknownKeys)
