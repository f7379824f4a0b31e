// Runs a real Patroni cluster of three nodes with the configuration of deploy/ha/, and two instances under load. Meanwhile the leader
// is killed, frozen, and switched over. No creation, change or removal that was acknowledged may be lost, nothing may be applied twice,
// and no answer may contradict another one (faults/history.ts). Takes about five minutes.

import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run, serve, start } from '../test/support/command.ts'
import { freePort } from '../test/support/postgres.ts'
import { API_KEY, type Scope } from '../test/support/service.ts'
import { type Cluster, startCluster } from './failover/patroni.ts'
import { Missing, type Programs, preparePrograms } from './failover/requirements.ts'
import { reportLoad, startLoad } from './faults/mixed-load.ts'
import { inScope } from './faults/processes.ts'

/** Every step ends with this many more writes, so that the next one starts under load. */
const WRITES_PER_STEP = 500

const folder = mkdtempSync(join(tmpdir(), 'animal-store-failover-'))
// The user postgres creates files in it.
chmodSync(folder, 0o777)
let isMissing = false
try {
  await inScope(main)
} catch (error) {
  process.exitCode = 1
  isMissing = error instanceof Missing
  if (!isMissing) throw error
  console.error(`The failover test cannot run here:\n${(error as Error).message}`)
} finally {
  if (process.exitCode && !isMissing) console.error(`The logs are in ${folder}.`)
  else rmSync(folder, { recursive: true, force: true })
}

async function main(scope: Scope): Promise<void> {
  const programs = preparePrograms(folder)
  const cluster = await startCluster(programs, folder)
  scope.after(cluster.stop)
  const first = await cluster.healthy()
  console.log(`${versionsOf(programs)}; ${first.name} is the leader`)
  const addresses = await startInstances(scope, programs, cluster)
  const load = startLoad({
    address: () => addresses[Math.floor(Math.random() * addresses.length)] ?? '',
    isRecorded: true,
  })
  scope.after(load.stop)

  await step('killed', async old => {
    old.signal('SIGKILL')
    await cluster.leaderOtherThan(old)
    await load.wroteMore(WRITES_PER_STEP)
    old.start()
  })
  await step('frozen', async old => {
    old.signal('SIGSTOP')
    await cluster.leaderOtherThan(old)
    await load.wroteMore(WRITES_PER_STEP)
    old.signal('SIGCONT')
  })
  await step('switched over', async old => {
    await cluster.switchOver()
    await cluster.leaderOtherThan(old)
  })
  await load.stop()
  await reportLoad(load, (_phase, status) => status === '503')

  /** Ends when the cluster is healthy again and the clients have written more. */
  async function step(
    name: string,
    action: (leader: Cluster['nodes'][number]) => Promise<void>,
  ): Promise<void> {
    await load.wroteMore(WRITES_PER_STEP)
    const leader = await cluster.healthy()
    console.log(`The leader is ${name} …`)
    await load.begin(name)
    await action(leader)
    await cluster.healthy()
    await load.wroteMore(WRITES_PER_STEP)
  }
}

/** One instance has the URL with several hosts. The other one connects through HAProxy, if that is installed. */
async function startInstances(
  scope: Scope,
  { haproxy }: Programs,
  { nodes, passwords }: Cluster,
): Promise<string[]> {
  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`).join()
  const several = `${hosts}/animals?target_session_attrs=read-write`
  const wait = ['--database-wait', '60s']
  const optionsOf = (role: string, password: string | undefined, database: string) => ({
    cwd: folder,
    env: {
      DATABASE_URL: `postgres://${role}@${database}`,
      PGPASSWORD: password ?? '',
      ANIMAL_STORE_API_KEY: API_KEY,
    },
  })
  const owner = optionsOf('animals_owner', passwords.OWNER_PASSWORD, several)
  const { code, err } = await run(scope, ['migrate', ...wait], owner)
  if (code !== 0) throw new Error(`the migration failed: ${err}`)
  const proxied = haproxy && `127.0.0.1:${await startProxy(scope, haproxy, nodes)}/animals`
  console.log(
    proxied
      ? 'One instance has a URL with three hosts, the other one connects through HAProxy.'
      : 'Both instances have a URL with three hosts.',
  )
  const instances = [several, proxied || several].map(database =>
    serve(
      scope,
      ['--log-level', 'error', ...wait],
      optionsOf('animals', passwords.SERVICE_PASSWORD, database),
    ),
  )
  return (await Promise.all(instances)).map(({ address }) => address)
}

/** Starts deploy/ha/haproxy.cfg with the addresses of this cluster. */
async function startProxy(scope: Scope, haproxy: string, nodes: Cluster['nodes']): Promise<number> {
  const port = await freePort()
  const servers = nodes
    .map(node => `  server ${node.name} 127.0.0.1:${node.port} port ${node.restPort}\n`)
    .join('')
  const text = readFileSync(new URL('../deploy/ha/haproxy.cfg', import.meta.url), 'utf8')
    .replace('bind 127.0.0.1:5000', `bind 127.0.0.1:${port}`)
    .replace(' port 8008', '')
    .replace(/( {2}server .*\n)+/, servers)
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, text)
  start(scope, ['-db', '-f', file], { cwd: folder, program: [haproxy] })
  return port
}

function versionsOf({ patroni, postgres, etcd }: Programs): string {
  const programs = [patroni, join(postgres, 'postgres'), etcd]
  return programs
    .map(program => execFileSync(program, ['--version'], { encoding: 'utf8' }).split('\n')[0]?.trim())
    .join(', ')
}
