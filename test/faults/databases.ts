// PostgreSQL goes away, freezes, or loses what the service needs, while clients create animals.
//
//   node test/faults/databases.ts [--quick]

import { serve } from '../support/command.ts'
import { administer, type PostgresServer, startPostgres } from '../support/postgres.ts'
import { API_KEY, type Scope, temporaryFolder } from '../support/service.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { waitUntil } from '../support/wait.ts'
import { createContinuously, describe, isIntact, send } from './creations.ts'
import { type Figure, type Options, report } from './figure.ts'
import { inScope, isAnswered } from './processes.ts'

const MAX_RECOVERY_MS = 5_000

/** The service's role owns nothing, so that its rights can be taken away. */
const ROLE = 'store'

interface Fault {
  readonly name: string
  begin(server: PostgresServer, proxy: TcpProxy): unknown
  end(server: PostgresServer, proxy: TcpProxy): unknown
}

const FAULTS: readonly Fault[] = [
  { name: 'stopped', begin: server => server.halt(), end: server => server.resume() },
  { name: 'frozen', begin: server => server.freeze(), end: server => server.thaw() },
  {
    name: 'out of reach (connections open and never answer)',
    begin(_server, proxy) {
      proxy.hang()
      proxy.closeAll()
    },
    end: (_server, proxy) => proxy.recover(),
  },
  {
    name: 'without the right to insert',
    begin: server => administer(`revoke insert on animals from ${ROLE}`, server.url),
    end: server => administer(`grant insert on animals to ${ROLE}`, server.url),
  },
  {
    name: 'without a table',
    begin: server => administer('alter table animals rename to elsewhere', server.url),
    end: server => administer('alter table elsewhere rename to animals', server.url),
  },
  {
    name: 'with a sequence behind its data',
    // Rows far enough ahead of the sequence, so that no animal gets one of their ids while they are inserted.
    begin: server =>
      administer(
        `insert into animals (id, name, category_id)
         select id, 'by hand ' || id, 1
         from (select max(id) + 500 as first from animals) as animals, generate_series(first, first + 5000) as id`,
        server.url,
      ),
    end: server => administer("select setval('animals_id_seq', max(id)) from animals", server.url),
  },
]

export function databases({ quick }: Options): Promise<Figure[]> {
  return inScope(async scope => {
    const figures: Figure[] = []
    for (const fault of FAULTS) figures.push(...(await cause(scope, fault, quick ? 1 : 5)))
    return figures
  })
}

async function cause(scope: Scope, { name, begin, end }: Fault, times: number): Promise<Figure[]> {
  const server = await startPostgres([])
  scope.after(() => server.stop())
  const proxy = await startTcpProxy(scope, server.url)
  const address = await startOn(scope, server, proxy.url)
  const creations = createContinuously(() => address)
  await createdMore(creations)
  let slowest = 0
  let isAlive = true
  for (let time = 1; time <= times; time++) {
    const failures = creations.statuses.get('503') ?? 0
    await begin(server, proxy)
    await waitUntil(() => (creations.statuses.get('503') ?? 0) > failures, {
      what: 'creations get 503',
      timeoutMs: 60_000,
    })
    await waitUntil(async () => (await send(address, false, 'GET', '/readyz'))?.status === 503, {
      what: '/readyz is 503',
      timeoutMs: 60_000,
    })
    isAlive &&= await isAnswered(address)
    await end(server, proxy)
    const repairedAt = performance.now()
    await createdMore(creations)
    slowest = Math.max(slowest, performance.now() - repairedAt)
  }
  const outcome = await creations.finish()
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

/** The administrator migrates; the service has a role that may only do what requests need. */
async function startOn(scope: Scope, server: PostgresServer, proxyUrl: string): Promise<string> {
  const cwd = temporaryFolder(scope)
  const env = { ANIMAL_STORE_API_KEY: API_KEY }
  const migration = await serve(scope, ['--log-level', 'silent'], {
    cwd,
    env: { ...env, DATABASE_URL: server.url },
  })
  migration.child.kill('SIGTERM')
  await migration.ended
  await administer(
    `create role ${ROLE} login password '${ROLE}';
     grant select, insert, update, delete on all tables in schema public to ${ROLE};
     grant usage on all sequences in schema public to ${ROLE}`,
    server.url,
  )
  const url = Object.assign(new URL(proxyUrl), { username: ROLE, password: ROLE }).href
  const { address } = await serve(scope, ['--log-level', 'silent'], {
    cwd,
    env: { ...env, DATABASE_URL: url },
  })
  return address
}

async function createdMore(creations: { acknowledged(): number }): Promise<void> {
  const enough = creations.acknowledged() + 10
  await waitUntil(() => creations.acknowledged() >= enough, {
    what: 'animals are created',
    timeoutMs: 60_000,
  })
}

if (import.meta.main) await report(databases)
