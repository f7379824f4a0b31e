// `npm run test:failover`: a real Patroni cluster of three nodes with the configuration of deploy/ha/, and two instances
// under load. Meanwhile the leader is killed, frozen, and switched over. No two answers may contradict each other: no
// animal that was acknowledged or listed may be missing later, and none may be stored twice. Takes about five minutes.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Load, startLoad } from './failover/load.ts'
import { type Cluster, openToPostgres, startCluster } from './failover/patroni.ts'
import { Missing, type Programs, preparePrograms } from './failover/requirements.ts'
import { MAIN } from './support/command.ts'
import { freePort } from './support/postgres.ts'
import { waitUntil } from './support/wait.ts'

const API_KEY = 'failover-key-0123456789'
const CLIENTS = 8

/** Every step ends with this many more animals, so that the next one starts under load. */
const ANIMALS_PER_STEP = 500
const TIMEOUT_MS = 180_000

const folder = mkdtempSync(join(tmpdir(), 'animal-store-failover-'))
openToPostgres(folder)
const children: ChildProcess[] = []
let cluster: Cluster | undefined
try {
  await main()
} catch (error) {
  process.exitCode = 1
  if (!(error instanceof Missing)) throw error
  console.error(`The failover test cannot run here:\n${error.message}`)
} finally {
  for (const child of children) child.kill('SIGKILL')
  cluster?.stop()
  if (cluster === undefined || !process.exitCode) rmSync(folder, { recursive: true, force: true })
  else console.error(`The logs are in ${folder}.`)
}

async function main(): Promise<void> {
  const programs = preparePrograms(folder)
  cluster = await startCluster(programs, folder)
  const first = await cluster.healthy()
  console.log(`${versionsOf(programs)}; ${first.name} is the leader`)
  const load = await startInstances(programs, cluster)

  await step(load, 'killed', async running => {
    const old = await running.healthy()
    old.signal('SIGKILL')
    await running.leaderOtherThan(old)
    await enoughAnimals(load)
    old.start()
  })
  await step(load, 'frozen', async running => {
    const old = await running.healthy()
    old.signal('SIGSTOP')
    await running.leaderOtherThan(old)
    await enoughAnimals(load)
    old.signal('SIGCONT')
  })
  await step(load, 'switched over', async running => {
    const old = await running.healthy()
    await running.switchOver()
    await running.leaderOtherThan(old)
  })
  await load.stop()
  await report(load)

  /** Ends when the cluster is healthy again and the clients have created more animals. */
  async function step(
    running: Load,
    name: string,
    action: (cluster: Cluster) => Promise<void>,
  ): Promise<void> {
    await enoughAnimals(running)
    running.begin(name)
    console.log(`The leader is ${name} …`)
    await action(cluster as Cluster)
    await (cluster as Cluster).healthy()
    await enoughAnimals(running)
  }
}

async function enoughAnimals(load: Load): Promise<void> {
  const enough = load.count() + ANIMALS_PER_STEP
  await waitUntil(() => load.count() >= enough, { what: 'the clients create animals', timeoutMs: TIMEOUT_MS })
}

/** One instance has the URL with several hosts. The other one connects through HAProxy, if that is installed. */
async function startInstances(programs: Programs, { nodes, passwords }: Cluster): Promise<Load> {
  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`).join()
  const several = `${hosts}/animals?target_session_attrs=read-write`
  execFileSync(process.execPath, [MAIN, 'migrate', '--database-wait', '60s'], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: `postgres://animals_owner@${several}`,
      PGPASSWORD: passwords.OWNER_PASSWORD,
    },
    stdio: 'inherit',
  })
  const proxied = programs.haproxy && `127.0.0.1:${await startProxy(programs.haproxy, nodes)}/animals`
  console.log(
    proxied
      ? 'One instance has a URL with three hosts, the other one connects through HAProxy.'
      : 'Both instances have a URL with three hosts.',
  )
  const addresses = await Promise.all(
    [several, proxied || several].map(database => startInstance(database, passwords)),
  )
  return startLoad({ addresses, clients: CLIENTS, apiKey: API_KEY })
}

async function startInstance(database: string, passwords: Cluster['passwords']): Promise<string> {
  const port = await freePort()
  const args = [MAIN, 'serve', '--port', String(port), '--log-level', 'error', '--database-wait', '60s']
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: `postgres://animals@${database}`,
    PGPASSWORD: passwords.SERVICE_PASSWORD,
    ANIMAL_STORE_API_KEY: API_KEY,
  }
  children.push(spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] }))
  const address = `http://127.0.0.1:${port}`
  const isReady = () =>
    fetch(`${address}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  await waitUntil(isReady, { what: 'the instance is ready', timeoutMs: TIMEOUT_MS })
  return address
}

/** Starts deploy/ha/haproxy.cfg with the addresses of this cluster. */
async function startProxy(haproxy: string, nodes: Cluster['nodes']): Promise<number> {
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
  children.push(spawn(haproxy, ['-db', '-f', file], { stdio: 'ignore' }))
  return port
}

async function report(load: Load): Promise<void> {
  for (const { name, acknowledged, statuses, longestGap } of load.phases) {
    const counts = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')
    console.log(
      `${name}: ${acknowledged} acknowledged, at most ${(longestGap / 1000).toFixed(1)} s without a 201 (${counts})`,
    )
  }
  console.log(`acknowledged  ${load.count()}`)
  const unexpected = load.phases.some(({ statuses }) =>
    [...statuses.keys()].some(status => !/^(200|201|503)$/.test(status)),
  )
  const hasPassed = (await load.check()) && !unexpected
  console.log(hasPassed ? '1 passed, 0 failed' : '0 passed, 1 failed')
  process.exitCode = hasPassed ? 0 : 1
}

function versionsOf({ patroni, postgres, etcd }: Programs): string {
  const version = (...[program = '', ...args]: string[]) =>
    execFileSync(program, args, { encoding: 'utf8' }).split('\n')[0]?.trim()
  return [
    version(patroni, '--version'),
    version(join(postgres, 'postgres'), '--version'),
    version(etcd, '--version'),
  ].join(', ')
}
