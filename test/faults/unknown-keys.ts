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
    const rounds: { without: Flood; unknown: Flood }[] = []
    // In turns, because the machine may be slow for a while.
    for (let round = 1; round <= (quick ? 1 : 5); round++) {
      rounds.push({
        without: await flood(scope, service, 'no-key', SECONDS),
        unknown: await flood(scope, service, 'unknown-keys', SECONDS),
      })
    }
    const times = median(rounds.map(({ without, unknown }) => unknown.cpuMicros / without.cpuMicros))
    const cpuMicros = median(rounds.map(({ unknown }) => unknown.cpuMicros))
    const sum = (name: 'sent' | 'served') => rounds.reduce((total, { unknown }) => total + unknown[name], 0)
    return [
      {
        promise: `a flood of unknown keys costs at most ${MAX_TIMES} times the CPU of one without keys (PostgreSQL included)`,
        measured: `${times.toFixed(2)} times, ${cpuMicros.toFixed(0)} µs per request`,
        holds: times <= MAX_TIMES,
        isSpeed: true,
      },
      {
        promise: 'meanwhile, every request with a known key is served',
        measured: `${sum('served')} of ${sum('sent')}`,
        holds: sum('sent') > 0 && sum('served') === sum('sent'),
      },
    ]
  })
}

interface Flood {
  /** Of the service and of PostgreSQL, per request. */
  readonly cpuMicros: number
  /** Requests with a known key, meanwhile. */
  readonly sent: number
  readonly served: number
}

async function flood(
  scope: Scope,
  { address, pid, postgres }: Service,
  kind: string,
  seconds: number,
): Promise<Flood> {
  const cpuMicros = () => usageOf(pid).cpuMicros + cpuMicrosOfServer(postgres.processes)
  const before = cpuMicros()
  const args = [address, String(CONNECTIONS), String(seconds), kind, '']
  const counted = text(startProgram(scope, 'load-generator.ts', args).stdout)
  let isFlooded = true
  counted.then(() => {
    isFlooded = false
  })
  let sent = 0
  let served = 0
  while (isFlooded) {
    sent++
    if ((await send(address, false, 'GET', '/v1/pets'))?.status === 200) served++
  }
  const answers = JSON.parse(await counted) as Record<string, number>
  const rejected = (answers['401'] ?? 0) + (answers['503'] ?? 0)
  return { cpuMicros: (cpuMicros() - before) / (rejected + sent), sent, served }
}

if (import.meta.main) await report(unknownKeys)
