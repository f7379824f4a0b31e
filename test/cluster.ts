// Runs a cluster under load (`npm run test:cluster`): three instances, a load balancer, PostgreSQL, and PgBouncer if it is
// installed. Meanwhile instances restart one by one, one is killed, and PostgreSQL restarts. No animal may be lost.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { Agent, createServer, type IncomingMessage, request, type Server } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { parseJson } from '../client/src/json.ts'
import { MAIN } from './support/command.ts'
import { startPooler } from './support/pgbouncer.ts'
import { freePort, startPostgres } from './support/postgres.ts'
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

const counts = { requests: 0, acknowledged: 0, failed: new Map<string, number>() }
const acknowledged = new Map<string, string>()
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
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let count = 0; !signal.aborted; count++) {
    const name = `${number}-${count}`
    const body = JSON.stringify({ name, categoryId: count })
    for (;;) {
      const reply = await send(agent, 'POST', '/v1/pets', body, { 'idempotency-key': name })
      if (reply?.status === 201) {
        acknowledged.set(name, reply.text)
        counts.acknowledged++
        break
      }
      if (signal.aborted) break
      await delay(50)
    }
    if (count % 3 === 0) await send(agent, 'GET', '/v1/pets?limit=20')
  }
  agent.destroy()
}

/** Sends a request through the load balancer and counts it. Returns undefined if there was no reply. */
async function send(
  agent: Agent,
  method: string,
  path: string,
  body?: string,
  headers = {},
): Promise<Reply | undefined> {
  const sentIn = phase
  counts.requests++
  inFlight.set(sentIn, (inFlight.get(sentIn) ?? 0) + 1)
  try {
    const reply = await exchange(balancer.port, agent, method, path, body, headers)
    if (reply.status >= 400) countFailure(`${sentIn}: ${reply.status}`)
    return reply
  } catch (error) {
    countFailure(`${sentIn}: ${(error as NodeJS.ErrnoException).code ?? error}`)
    return undefined
  } finally {
    inFlight.set(sentIn, (inFlight.get(sentIn) ?? 1) - 1)
  }
}

function countFailure(what: string): void {
  counts.failed.set(what, (counts.failed.get(what) ?? 0) + 1)
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
async function startBalancer(): Promise<{ server: Server; port: number }> {
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
  return { server, port }
}

/** Compares the stored animals with the acknowledged ones and prints the result. */
async function report(): Promise<void> {
  const stored = new Map<string, string[]>()
  let path: string | undefined = '/v1/pets?limit=100'
  while (path !== undefined) {
    const { text, headers } = await exchange(balancer.port, undefined, 'GET', path)
    for (const { id, name } of parseJson(text) as { id: bigint; name: string }[]) {
      stored.set(name, [...(stored.get(name) ?? []), String(id)])
    }
    path = /<([^>]+)>; rel="next"/.exec(String(headers.link))?.[1]
  }
  const lost = [...acknowledged].filter(
    ([name, text]) => !stored.get(name)?.includes(String((parseJson(text) as { id: bigint }).id)),
  )
  const duplicated = [...stored].filter(([, ids]) => ids.length > 1)
  console.log(
    `${INSTANCES} instances, ${CLIENTS} clients, ${pooler ? 'PgBouncer in transaction mode' : 'no connection pooler'}`,
  )
  console.log(`requests      ${counts.requests}`)
  console.log(`acknowledged  ${counts.acknowledged}`)
  for (const [what, count] of counts.failed) console.log(`failed        ${count} (${what})`)
  console.log(`lost          ${lost.length}`)
  console.log(`duplicated    ${duplicated.length}`)
  const hasPassed =
    lost.length === 0 && duplicated.length === 0 && ![...counts.failed.keys()].some(isUnexpected)
  console.log(hasPassed ? '1 passed, 0 failed' : '0 passed, 1 failed')
  process.exitCode = hasPassed ? 0 : 1
}

/** Requests may fail after a kill and while PostgreSQL restarts, but never in other phases and never with 500. */
function isUnexpected(failure: string): boolean {
  return /^(start|rolling restarts|afterwards): /.test(failure) || failure.endsWith(': 500')
}
