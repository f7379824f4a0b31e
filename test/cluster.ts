// Runs a cluster under load (`npm run test:cluster`): three instances, a load balancer, PostgreSQL, and PgBouncer if it is
// installed. Meanwhile instances restart one by one, one is killed, and PostgreSQL restarts. No two answers may contradict
// each other: no animal may be lost or stored twice.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { Agent, createServer, type IncomingMessage, request, type Server } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { INT64_MAX } from '../src/json.ts'
import { MAIN } from './support/command.ts'
import type { Request } from './support/history.ts'
import { startPooler } from './support/pgbouncer.ts'
import { freePort, startPostgres } from './support/postgres.ts'
import { type Answer, startRecorder } from './support/recorder.ts'
import { waitUntil } from './support/wait.ts'

const API_KEY = 'cluster-key-0123456789'
const INSTANCES = 3
const CLIENTS = 12

/** The longest that any step may take. */
const LIMIT_MS = 20_000

interface Instance {
  readonly port: number
  process: ChildProcess
  isReady: boolean
}

interface Reply {
  readonly status: number
  readonly text: string
  readonly headers: IncomingMessage['headers']
}

const recorder = startRecorder(API_KEY)
const counts = { acknowledged: 0, failed: new Map<string, number>() }
/** The number of requests in flight, by the phase they were sent in. */
const inFlight = new Map<string, number>()
let phase = 'start'

const postgres = await startPostgres([])
const pooler = await startPooler(postgres.url)
if (pooler === undefined)
  console.log('PgBouncer is not installed: the instances connect to PostgreSQL directly.')
const instances = await Promise.all(Array.from({ length: INSTANCES }, startInstance))
const balancer = await startBalancer()
try {
  await Promise.all(instances.map(waitUntilReady))
  const stopped = new AbortController()
  const clients = Array.from({ length: CLIENTS }, (_, number) => runClient(number, stopped.signal))

  await during('rolling restarts', async () => {
    for (const instance of instances) {
      instance.process.kill('SIGTERM')
      assert.equal(await exitCode(instance.process), 0, 'an instance did not shut down cleanly')
      instance.process = spawnInstance(instance.port)
      await waitUntilReady(instance)
    }
  })
  await during('kill -9', async () => {
    const [killed] = instances as [Instance]
    killed.process.kill('SIGKILL')
    await exitCode(killed.process)
    await waitUntil(() => !killed.isReady, {
      what: 'the load balancer notices the killed instance',
      timeoutMs: LIMIT_MS,
    })
    killed.process = spawnInstance(killed.port)
    await waitUntilReady(killed)
  })
  await during('restart of PostgreSQL', async () => {
    await postgres.halt()
    await waitUntil(() => instances.every(({ isReady }) => !isReady), {
      what: 'no instance reports that it is ready',
      timeoutMs: LIMIT_MS,
    })
    await postgres.resume()
    await Promise.all(instances.map(waitUntilReady))
  })
  await during('afterwards', () => Promise.all(instances.map(waitUntilReady)))
  stopped.abort()
  await Promise.all(clients)
  await report()
} finally {
  balancer.server.close()
  for (const { process } of instances) process.kill('SIGKILL')
  pooler?.stop()
  await postgres.stop()
}

/**
 * Runs the action of a phase while the clients send requests. Before it, waits until every request of the previous
 * phase has a reply. After it, waits until the clients have created more animals.
 */
async function during(name: string, action: () => Promise<unknown>): Promise<void> {
  const previous = phase
  phase = name
  await waitUntil(() => !inFlight.get(previous), { what: 'every request has a reply', timeoutMs: LIMIT_MS })
  await action()
  const enough = counts.acknowledged + CLIENTS * 20
  await waitUntil(() => counts.acknowledged >= enough, {
    what: 'the clients have created animals',
    timeoutMs: LIMIT_MS,
  })
}

/** Creates and lists animals. Retries a failed creation with the same Idempotency-Key until it gets 201. */
async function runClient(number: number, signal: AbortSignal): Promise<void> {
  for (let count = 0; !signal.aborted; count++) {
    const name = `${number}-${count}`
    const sent = { name, categoryId: BigInt(count) }
    while ((await send({ kind: 'create', sent, idempotencyKey: name })).status !== '201') {
      if (signal.aborted) return
      await delay(50)
    }
    counts.acknowledged++
    if (count % 3 === 0) await send({ kind: 'list', limit: 20, before: INT64_MAX })
  }
}

/** Sends a request through the load balancer and counts it. */
async function send(request: Request): Promise<Answer> {
  const sentIn = phase
  inFlight.set(sentIn, (inFlight.get(sentIn) ?? 0) + 1)
  const answer = await recorder.send(balancer.address, request)
  inFlight.set(sentIn, (inFlight.get(sentIn) ?? 1) - 1)
  if (!/^20[01]$/.test(answer.status)) {
    const failure = `${sentIn}: ${answer.status}`
    counts.failed.set(failure, (counts.failed.get(failure) ?? 0) + 1)
  }
  return answer
}

function exchange(
  port: number,
  agent: Agent | undefined,
  method: string,
  path: string,
  body?: string,
  headers = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        ...(agent && { agent }),
        method,
        path,
        headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json', ...headers },
      },
      async incoming => {
        try {
          const chunks: Buffer[] = []
          for await (const chunk of incoming) chunks.push(chunk)
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            text: Buffer.concat(chunks).toString(),
          })
        } catch (error) {
          reject(error)
        }
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

async function startInstance(): Promise<Instance> {
  const port = await freePort()
  return { port, process: spawnInstance(port), isReady: false }
}

function spawnInstance(port: number): ChildProcess {
  return spawn(process.execPath, [MAIN, 'serve', '--port', String(port), '--log-level', 'error'], {
    env: {
      PATH: process.env.PATH ?? '',
      DATABASE_URL: pooler?.url ?? postgres.url,
      ANIMAL_STORE_API_KEY: API_KEY,
    },
    stdio: ['ignore', 'ignore', 'ignore'],
  })
}

function waitUntilReady(instance: Instance): Promise<void> {
  return waitUntil(
    () => {
      assert.equal(instance.process.exitCode, null, 'an instance exited before it was ready')
      return instance.isReady
    },
    { what: 'the instance is ready', timeoutMs: LIMIT_MS },
  )
}

function exitCode(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode)
  return new Promise(resolve => child.once('exit', resolve))
}

/** Sends requests to the ready instances in turn. If one does not accept the connection, it tries the next one. */
async function startBalancer(): Promise<{ server: Server; address: string }> {
  const agents = new Map(instances.map(instance => [instance, new Agent({ keepAlive: true })]))
  let next = 0
  for (const instance of instances) {
    setInterval(async () => {
      const reply = await exchange(instance.port, undefined, 'GET', '/readyz').catch(() => undefined)
      instance.isReady = reply?.status === 200
    }, 100).unref()
  }
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const candidates = instances.filter(({ isReady }) => isReady)
    for (let attempt = 0; attempt < candidates.length; attempt++) {
      const instance = candidates[next++ % candidates.length] as Instance
      const { authorization, ...headers } = incoming.headers
      delete headers.connection
      try {
        const reply = await exchange(
          instance.port,
          agents.get(instance),
          incoming.method ?? '',
          incoming.url ?? '',
          Buffer.concat(chunks).toString(),
          headers,
        )
        delete reply.headers.connection
        delete reply.headers['keep-alive']
        outgoing.writeHead(reply.status, reply.headers).end(reply.text)
        return
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') continue
        break
      }
    }
    outgoing.writeHead(502).end()
  })
  const port = await freePort()
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  return { server, address: `http://127.0.0.1:${port}` }
}

async function report(): Promise<void> {
  console.log(
    `${INSTANCES} instances, ${CLIENTS} clients, ${pooler ? 'PgBouncer in transaction mode' : 'no connection pooler'}`,
  )
  console.log(`acknowledged  ${counts.acknowledged}`)
  for (const [what, count] of counts.failed) console.log(`failed        ${count} (${what})`)
  const hasPassed = (await recorder.check(balancer.address)) && ![...counts.failed.keys()].some(isUnexpected)
  console.log(hasPassed ? '1 passed, 0 failed' : '0 passed, 1 failed')
  process.exitCode = hasPassed ? 0 : 1
}

/**
 * Requests may fail after a kill and while PostgreSQL restarts, but never in other phases: with 503, with 502 of the load
 * balancer, or with a connection that breaks.
 */
function isUnexpected(failure: string): boolean {
  return !/^(kill -9|restart of PostgreSQL): (50[23]|E[A-Z]+|UND_ERR_SOCKET)$/.test(failure)
}
