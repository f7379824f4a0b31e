// A Patroni cluster of three nodes on this machine, with one etcd and the configuration of deploy/ha/.

import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../test/support/postgres.ts'
import { childrenOf } from '../../test/support/processes.ts'
import { waitUntil } from '../../test/support/wait.ts'
import type { Programs } from './requirements.ts'

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url))

/** A busy machine may take this long to copy a node or to elect a leader. */
const TIMEOUT_MS = 180_000

export interface Node {
  readonly name: string
  readonly port: number
  readonly restPort: number
  /** Sends a signal to the processes of Patroni and PostgreSQL on this node. */
  signal(signal: NodeJS.Signals): void
  start(): void
}

export interface Cluster {
  readonly nodes: readonly Node[]
  readonly passwords: Readonly<Record<string, string>>
  /** Resolves with the leader once it has a synchronous standby and all nodes stream from it. */
  healthy(): Promise<Node>
  /** Resolves once a node other than `old` accepts writes. */
  leaderOtherThan(old: Node): Promise<void>
  /** Asks Patroni to make the synchronous standby the leader. */
  switchOver(): Promise<void>
  stop(): void
}

interface Member {
  readonly name: string
  readonly role: string
  readonly state: string
}

export async function startCluster(programs: Programs, folder: string): Promise<Cluster> {
  const children: ChildProcess[] = []
  const passwords = Object.fromEntries(
    [
      'PATRONI_SUPERUSER_PASSWORD',
      'PATRONI_REPLICATION_PASSWORD',
      'PATRONI_REWIND_PASSWORD',
      'PATRONI_RESTAPI_PASSWORD',
      'OWNER_PASSWORD',
      'SERVICE_PASSWORD',
    ].map(name => [name, randomBytes(12).toString('hex')]),
  )
  const configuration = copyConfiguration(folder)
  const etcdPort = await startEtcd(programs, folder, children)
  const nodes = await Promise.all(['node1', 'node2', 'node3'].map(createNode))

  async function createNode(name: string): Promise<Node> {
    const [port, restPort] = [await freePort(), await freePort()]
    const data = join(folder, name)
    const env = {
      ...readExample(join(DEPLOY, 'ha/patroni.env.example')),
      ...passwords,
      PATH: `${programs.postgres}:${process.env.PATH}`,
      PATRONI_NAME: name,
      PATRONI_RESTAPI_LISTEN: `127.0.0.1:${restPort}`,
      PATRONI_RESTAPI_CONNECT_ADDRESS: `127.0.0.1:${restPort}`,
      PATRONI_POSTGRESQL_LISTEN: `127.0.0.1:${port}`,
      PATRONI_POSTGRESQL_CONNECT_ADDRESS: `127.0.0.1:${port}`,
      PATRONI_POSTGRESQL_DATA_DIR: data,
      PATRONI_POSTGRESQL_BIN_DIR: programs.postgres,
      PATRONI_POSTGRESQL_PGPASS: join(folder, `${name}.pgpass`),
      PATRONI_ETCD3_HOSTS: `127.0.0.1:${etcdPort}`,
    }
    let patroni: ChildProcess | undefined
    return {
      name,
      port,
      restPort,
      start() {
        patroni = spawnAsPostgres(programs.patroni, [configuration], join(folder, `${name}.log`), env)
        children.push(patroni)
      },
      signal(signal) {
        // Patroni first, so that it does not start PostgreSQL again.
        sendSignal(Number(patroni?.pid), signal)
        for (const pid of processesOf(data)) sendSignal(pid, signal)
      },
    }
  }

  async function members(): Promise<Member[]> {
    for (const { restPort } of nodes) {
      const reply = await fetch(`http://127.0.0.1:${restPort}/cluster`, {
        signal: AbortSignal.timeout(1_000),
      }).catch(() => undefined)
      if (reply?.ok) return ((await reply.json()) as { members: Member[] }).members
    }
    return []
  }

  async function isPrimary({ restPort }: Node): Promise<boolean> {
    return fetch(`http://127.0.0.1:${restPort}/primary`, { signal: AbortSignal.timeout(1_000) }).then(
      ({ status }) => status === 200,
      () => false,
    )
  }

  async function healthy(): Promise<Node> {
    let leader: Node | undefined
    await waitUntil(
      async () => {
        const all = await members()
        leader = nodes.find(({ name }) =>
          all.some(member => member.name === name && member.role === 'leader'),
        )
        return (
          leader !== undefined &&
          all.length === nodes.length &&
          all.some(({ role }) => role === 'sync_standby') &&
          all.every(({ role, state }) => state === (role === 'leader' ? 'running' : 'streaming'))
        )
      },
      { what: 'the cluster is healthy', timeoutMs: TIMEOUT_MS },
    )
    return leader as Node
  }

  for (const node of nodes) node.start()
  return {
    nodes,
    passwords,
    healthy,

    leaderOtherThan(old) {
      const others = nodes.filter(node => node !== old)
      const hasLeader = async () => (await Promise.all(others.map(isPrimary))).includes(true)
      return waitUntil(hasLeader, { what: 'another node is the leader', timeoutMs: TIMEOUT_MS })
    },

    async switchOver() {
      const leader = await healthy()
      const candidate = (await members()).find(({ role }) => role === 'sync_standby')?.name
      const credentials = Buffer.from(`patroni:${passwords.PATRONI_RESTAPI_PASSWORD}`).toString('base64')
      const reply = await fetch(`http://127.0.0.1:${leader.restPort}/switchover`, {
        method: 'POST',
        headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/json' },
        body: JSON.stringify({ leader: leader.name, candidate }),
      })
      if (reply.status !== 200) throw new Error(`the switchover failed: ${await reply.text()}`)
    },

    stop() {
      for (const node of nodes) node.signal('SIGKILL')
      for (const child of children) child.kill('SIGKILL')
    },
  }
}

/** Copies deploy/ to a folder that the user postgres can use, and replaces the paths of a real node by this folder. */
function copyConfiguration(folder: string): string {
  const copy = join(folder, 'deploy')
  cpSync(DEPLOY, copy, { recursive: true })
  const file = join(copy, 'ha/patroni.yaml')
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replaceAll(/\/opt\/animal-store|\/var\/run\/postgresql/g, folder),
  )
  return file
}

async function startEtcd({ etcd }: Programs, folder: string, children: ChildProcess[]): Promise<number> {
  const [port, peerPort] = [await freePort(), await freePort()]
  const log = openSync(join(folder, 'etcd.log'), 'a')
  const client = `http://127.0.0.1:${port}`
  const env = {
    PATH: process.env.PATH ?? '',
    ...readExample(join(DEPLOY, 'ha/etcd.env.example')),
    ETCD_DATA_DIR: join(folder, 'etcd'),
    ETCD_LISTEN_PEER_URLS: `http://127.0.0.1:${peerPort}`,
    ETCD_INITIAL_ADVERTISE_PEER_URLS: `http://127.0.0.1:${peerPort}`,
    ETCD_LISTEN_CLIENT_URLS: client,
    ETCD_ADVERTISE_CLIENT_URLS: client,
    ETCD_INITIAL_CLUSTER: `node1=http://127.0.0.1:${peerPort}`,
  }
  children.push(spawn(etcd, [], { env, stdio: ['ignore', log, log] }))
  const isUp = () =>
    fetch(`${client}/health`).then(
      ({ ok }) => ok,
      () => false,
    )
  await waitUntil(isUp, { what: 'etcd is healthy', timeoutMs: TIMEOUT_MS })
  return port
}

/** Reads the values of an example file, so that the test runs with the documented values. */
function readExample(file: string): Record<string, string> {
  return Object.fromEntries(
    [...readFileSync(file, 'utf8').matchAll(/^(\w+)=(.+)$/gm)].map(([, name, value]) => [name, value]),
  )
}

/** PostgreSQL does not run as root. */
function spawnAsPostgres(
  program: string,
  args: string[],
  logFile: string,
  env: NodeJS.ProcessEnv,
): ChildProcess {
  const log = openSync(logFile, 'a')
  const change =
    process.getuid?.() === 0 ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups'] : []
  const [file = '', ...rest] = [...change, program, ...args]
  return spawn(file, rest, { env, cwd: '/', stdio: ['ignore', log, log] })
}

/** The processes of the PostgreSQL that runs in this folder. */
function processesOf(data: string): number[] {
  try {
    const postmaster = Number.parseInt(readFileSync(join(data, 'postmaster.pid'), 'utf8'), 10)
    return [postmaster, ...childrenOf(postmaster)]
  } catch {
    // It does not run.
    return []
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has already ended.
  }
}
