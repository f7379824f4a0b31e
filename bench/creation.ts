// Creation on PostgreSQL with 64 connections: this service, which groups what arrives together, in turns with itself
// without grouping, and with a bare server that runs a plain insert for each request and checks nothing.
// `npm run bench:creation -- [seconds per round]`. Durable: PostgreSQL runs with its own defaults.

import { type ChildProcess, spawn } from 'node:child_process'
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { administer, freePort, startPostgres } from '../test/support/postgres.ts'

const CONNECTIONS = 64
const ROUNDS = 3

/** How long a sync takes, in microseconds more than here: PostgreSQL waits so long before it flushes a commit. */
const DISKS = [
  ['this disk', 0],
  ['a disk that syncs in 5 ms', 5_000],
] as const
const seconds = Number(process.argv[2] ?? 3)

const API_KEY = 'bench-key-0123456789'
const BODY = JSON.stringify({ name: 'Bella', categoryId: 7, status: 'available' })

const postgres = await startPostgres([])
const contenders = [
  { name: 'animal-store', file: '../bin/animal-store.js', args: ['serve', '--log-level', 'silent'] },
  { name: 'animal-store, ungrouped', file: 'servers/ungrouped.ts', args: [] },
  { name: 'bare server, one insert', file: 'servers/one-insert-per-request.ts', args: [] },
]
const started: { name: string; port: number; child: ChildProcess }[] = []
try {
  for (const { name, file, args } of contenders) {
    const port = await freePort()
    const child = spawn(process.execPath, [fileURLToPath(new URL(file, import.meta.url)), ...args], {
      env: {
        PATH: process.env.PATH ?? '',
        PORT: String(port),
        DATABASE_URL: postgres.url,
        ANIMAL_STORE_API_KEY: API_KEY,
      },
      stdio: 'ignore',
    })
    started.push({ name, port, child })
    await answering(port)
  }
  for (const [disk, delayUs] of DISKS) {
    await administer(`alter system set commit_delay = ${delayUs}`, postgres.url)
    await administer('alter system set commit_siblings = 0', postgres.url)
    await administer('select pg_reload_conf()', postgres.url)
    const rates = new Map(started.map(({ name }) => [name, [] as number[]]))
    for (let round = 1; round <= ROUNDS; round++) {
      for (const { name, port } of started) {
        const rate = await measure(port)
        rates.get(name)?.push(rate)
        console.log(`${disk}, round ${round}: ${name.padEnd(24)} ${Math.round(rate)} creations/s`)
      }
    }
    const [ours = 0, ...others] = [...rates.values()].map(median)
    for (const [index, rate] of others.entries()) {
      console.log(`${disk}: ${(ours / rate).toFixed(2)} times ${started[index + 1]?.name}`)
    }
  }
} finally {
  for (const { child } of started) child.kill('SIGKILL')
  await postgres.stop()
}

async function measure(port: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const end = performance.now() + seconds * 1000
  let created = 0
  const client = async () => {
    while (performance.now() < end) {
      if ((await post(port, agent)) !== 201)
        throw new Error('a creation was refused: this run does not count')
      created++
    }
  }
  const since = performance.now()
  await Promise.all(Array.from({ length: CONNECTIONS }, client))
  agent.destroy()
  return created / ((performance.now() - since) / 1000)
}

function post(port: number, agent?: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        ...(agent && { agent }),
        method: 'POST',
        path: '/v1/pets',
        headers: {
          authorization: `Bearer ${API_KEY}`,
          'content-type': 'application/json',
          'content-length': BODY.length,
        },
      },
      incoming => incoming.resume().on('end', () => resolve(incoming.statusCode ?? 0)),
    )
    outgoing.on('error', reject)
    outgoing.end(BODY)
  })
}

async function answering(port: number): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if ((await post(port).catch(() => 0)) === 201) return
    await delay(50)
  }
  throw new Error('a contender did not start')
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}
