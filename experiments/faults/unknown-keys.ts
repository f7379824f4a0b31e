// A flood of well-formed keys that do not exist, on PostgreSQL: what it costs, and whether known keys are served.

import { median } from '../../bench/measure.ts'
import { type PostgresServer, startPostgres } from '../../test/support/postgres.ts'
import { cpuMicrosOf, cpuMicrosOfServer } from '../../test/support/processes.ts'
import type { Scope } from '../../test/support/service.ts'
import type { Figure, Options } from './figure.ts'
import { generateLoad, inScope, startService } from './processes.ts'
import { send } from './writes.ts'

const CONNECTIONS = 64
const MAX_TIMES = 2
const SECONDS = 3

export function unknownKeys({ quick }: Options): Promise<Figure[]> {
  return inScope(async scope => {
    const postgres = await startPostgres([])
    scope.after(() => postgres.stop())
    const service = { ...(await startService(scope, postgres.url)), postgres }
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
    const { sent, served } = await sendKnownKey(
      service.address,
      flood(scope, service, 'unknown-keys', SECONDS),
    )
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
  { address, pid, postgres }: { address: string; pid: number; postgres: PostgresServer },
  kind: string,
  seconds: number,
): Promise<number> {
  const cpuMicros = () => cpuMicrosOf(pid) + cpuMicrosOfServer(postgres.processes)
  const before = cpuMicros()
  const answers = await generateLoad(scope, address, CONNECTIONS, seconds, kind)
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
