// Runs a cluster under load: three instances, PostgreSQL, and PgBouncer if it is installed. Meanwhile instances restart one by one, one
// is killed, and PostgreSQL restarts. No creation, change or removal that was acknowledged may be lost, nothing may be applied twice, and
// no request may fail in a rolling restart. Like a load balancer, the clients use the instances that are ready.

import assert from 'node:assert/strict'
import { serve } from '../test/support/command.ts'
import { startPooler } from '../test/support/pgbouncer.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { API_KEY, temporaryFolder } from '../test/support/service.ts'
import { type Instance, nextReady, watchInstance } from './faults/instances.ts'
import { type Load, reportLoad, startLoad } from './faults/mixed-load.ts'
import { inScope } from './faults/processes.ts'

const INSTANCES = 3

/** Every step ends with this many more writes, so that the next one starts under load. */
const WRITES_PER_STEP = 240

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
    cwd: temporaryFolder(),
    env: { DATABASE_URL: pooler?.url ?? postgres.url, ANIMAL_STORE_API_KEY: API_KEY },
  }
  const start = () => serve(scope, ['--log-level', 'error'], options)
  const instances = await Promise.all(Array.from({ length: INSTANCES }, () => watchInstance(scope, start)))
  await Promise.all(instances.map(({ becomes }) => becomes('ready')))
  const load = startLoad({ address: nextReady(instances), isRecorded: true })
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
  await load.wroteMore(WRITES_PER_STEP)
}
