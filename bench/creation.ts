// Creation on PostgreSQL with 64 connections: this service, which groups, against one insert per request, in turns.
// `node bench/creation.ts [seconds per round]`. Durable: PostgreSQL runs with its own defaults.

import { type ChildProcess, spawn } from 'node:child_process'
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort, startPostgres } from '../test/support/postgres.ts'

const CONNECTIONS = 64
const ROUNDS = 3
const seconds = Number(process.argv[2] ?? 4)

const API_KEY = 'bench-key-0123456789'
const BODY = JSON.stringify({ name: 'Bella', categoryId: 7, status: 'available' })

const postgres = await startPostgres([])
const contenders = [
  {
    name: 'animal-store',
    file: '../bin/animal-store.js',
    args: ['serve', '--log-level', 'silent'],
    rates: [] as number[],
  },
  { name: 'one insert per request', file: 'one-insert-per-request.ts', args: [], rates: [] as number[] },
]
const started: { name: string; port: number; child: ChildProcess; rates: number[] }[] = []
try {
  for (const { name, file, args, rates } of contenders) {
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
    started.push({ name, port, child, rates })
    await answering(port)
  }
  for (let round = 1; round <= ROUNDS; round++) {
    for (const { name, port, rates } of started) {
      const rate = await measure(port)
      rates.push(rate)
      console.log(`round ${round}  ${name.padEnd(24)} ${Math.round(rate)} creations/s`)
    }
  }
  const [ours = 0, theirs = 1] = started.map(({ rates }) => median(rates))
  console.log(`median ratio  ${(ours / theirs).toFixed(2)}`)
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
