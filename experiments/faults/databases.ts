// PostgreSQL stops or freezes, while clients add, change and remove animals.

import { type PostgresServer, startPostgres } from '../../test/support/postgres.ts'
import type { Scope } from '../../test/support/service.ts'
import { waitUntil } from '../../test/support/wait.ts'
import type { Figure, Options } from './figure.ts'
import { inScope, isAnswered, startService } from './processes.ts'
import { describe, isIntact, send, writeContinuously, wroteMore } from './writes.ts'

const MAX_RECOVERY_MS = 5_000

interface Fault {
  readonly name: string
  begin(server: PostgresServer): unknown
  end(server: PostgresServer): unknown
}

const FAULTS: readonly Fault[] = [
  { name: 'stopped', begin: server => server.halt(), end: server => server.resume() },
  { name: 'frozen', begin: server => server.freeze(), end: server => server.thaw() },
]

export async function databases({ quick }: Options): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const fault of FAULTS) figures.push(...(await inScope(scope => cause(scope, fault, quick ? 1 : 5))))
  return figures
}

async function cause(scope: Scope, { name, begin, end }: Fault, times: number): Promise<Figure[]> {
  const server = await startPostgres([])
  scope.after(() => server.stop())
  const { address } = await startService(scope, server.url)
  const writes = writeContinuously(() => address)
  await wroteMore(writes)
  let slowest = 0
  let isAlive = true
  for (let time = 1; time <= times; time++) {
    const failures = writes.statuses.get('503') ?? 0
    await begin(server)
    await waitUntil(() => (writes.statuses.get('503') ?? 0) > failures, {
      what: 'creations get 503',
      timeoutMs: 60_000,
    })
    await waitUntil(async () => (await send(address, false, 'GET', '/readyz'))?.status === 503, {
      what: '/readyz is 503',
      timeoutMs: 60_000,
    })
    isAlive &&= await isAnswered(address)
    await end(server)
    const repairedAt = performance.now()
    await wroteMore(writes)
    slowest = Math.max(slowest, performance.now() - repairedAt)
  }
  const outcome = await writes.finish()
  return [
    {
      promise: `PostgreSQL ${name}: 503, never 500, /livez answers, nothing acknowledged is lost`,
      measured: `${describe(outcome)}; /livez ${isAlive ? 'answered' : 'did not answer'}`,
      holds: isAlive && isIntact(outcome),
    },
    {
      promise: `PostgreSQL ${name}: stores again within 5 s of the repair`,
      measured: `${(slowest / 1_000).toFixed(2)} s`,
      holds: slowest <= MAX_RECOVERY_MS,
      isSpeed: true,
    },
  ]
}
