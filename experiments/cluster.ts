// Runs a cluster under load: three instances, PostgreSQL, and PgBouncer if it is installed.
// Meanwhile instances restart one by one, one is killed, and PostgreSQL restarts. No animal may be lost or stored twice,
// and no request may fail in a rolling restart. Like a load balancer, the clients use the instances that are ready.

import assert from 'node:assert/strict'
import { serve } from '../test/support/command.ts'
import { startPooler } from '../test/support/pgbouncer.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { API_KEY, type Scope, temporaryFolder } from '../test/support/service.ts'
import { waitUntil } from '../test/support/wait.ts'
import { send } from './faults/creations.ts'
import { type Load, reportLoad, startLoad } from './faults/mixed-load.ts'
import { inScope } from './faults/processes.ts'

const INSTANCES = 3

/** How often the readiness of each instance is checked. */
const CHECK_MS = 100

/** The longest that any step may take. */
const LIMIT_MS = 20_000

/** Every step ends with this many more animals, so that the next one starts under load. */
const ANIMALS_PER_STEP = 240

/** In these steps, requests may get 503 or no answer. */
const KILL = 'kill -9'
const OUTAGE = 'restart of PostgreSQL'

await inScope(async scope => {
  const postgres = await startPostgres([])
  scope.after(() => postgres.stop())
  const pooler = await startPooler(postgres.url)
  scope.after(() => pooler?.stop())
  console.log(`${INSTANCES} instances, ${pooler ? 'PgBouncer in transaction mode' : 'no connection pooler'}`)
  const options = {
    cwd: temporaryFolder(scope),
    env: { DATABASE_URL: pooler?.url ?? postgres.url, ANIMAL_STORE_API_KEY: API_KEY },
  }
  const start = () => serve(scope, ['--log-level', 'error'], options)
  const instances = await Promise.all(Array.from({ length: INSTANCES }, () => watch(scope, start)))
  await Promise.all(instances.map(({ becomes }) => becomes('ready')))
  let turn = 0
  const address = () => {
    const ready = instances.filter(({ isReady }) => isReady())
    const candidates = ready.length > 0 ? ready : instances
    return candidates[turn++ % candidates.length]?.address() ?? ''
  }
  const load = startLoad({ address, isRecorded: true })
  scope.after(load.stop)

  await step(load, 'rolling restarts', async () => {
    for (const { signal, restart, becomes } of instances) {
      assert.equal((await signal('SIGTERM')).code, 0, 'an instance did not shut down cleanly')
      await restart()
      await becomes('ready')
    }
  })
  await step(load, KILL, async () => {
    const [{ signal, restart, becomes }] = instances as [Instance]
    await signal('SIGKILL')
    await becomes('not ready')
    await restart()
    await becomes('ready')
  })
  await step(load, OUTAGE, async () => {
    await postgres.halt()
    await Promise.all(instances.map(({ becomes }) => becomes('not ready')))
    await postgres.resume()
    await Promise.all(instances.map(({ becomes }) => becomes('ready')))
  })
  await step(load, 'afterwards', async () => {})
  await load.stop()
  await reportLoad(load, phase => [KILL, OUTAGE].includes(phase))
})

async function step(load: Load, name: string, action: () => Promise<void>): Promise<void> {
  await load.begin(name)
  await action()
  await load.createdMore(ANIMALS_PER_STEP)
}

type Instance = Awaited<ReturnType<typeof watch>>

/** Starts an instance, and checks its readiness from then on. */
async function watch(scope: Scope, start: () => ReturnType<typeof serve>) {
  let running = await start()
  let isReady = false
  const timer = setInterval(async () => {
    isReady = (await send(running.address, false, 'GET', '/readyz'))?.status === 200
  }, CHECK_MS)
  scope.after(() => clearInterval(timer))
  return {
    address: () => running.address,
    isReady: () => isReady,
    signal(signal: NodeJS.Signals) {
      running.child.kill(signal)
      return running.ended
    },
    async restart() {
      running = await start()
    },
    becomes: (state: 'ready' | 'not ready') =>
      waitUntil(() => isReady === (state === 'ready'), {
        what: `the instance is ${state}`,
        timeoutMs: LIMIT_MS,
      }),
  }
}
