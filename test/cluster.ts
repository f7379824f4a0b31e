// A cluster without containers: PostgreSQL, PgBouncer where it is installed, three instances and a load balancer,
// under load through rolling restarts, a kill -9 and a restart of PostgreSQL. `npm run test:cluster`.

import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, type IncomingMessage, request, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseJson } from '../client/src/json.ts'
import { MAIN } from './support/command.ts'
import { freePort, startPostgres } from './support/postgres.ts'

const API_KEY = 'cluster-key-0123456789'
const INSTANCES = 3
const WORKERS = 12

interface Instance {
  readonly port: number
  process: ChildProcess
  isReady: boolean
}

interface Answer {
  readonly status: number
  readonly text: string
  readonly headers: IncomingMessage['headers']
}

const counts = { requests: 0, acknowledged: 0, failed: new Map<string, number>() }
const acknowledged = new Map<string, string>()
/** How many requests are under way, by the phase they were sent in. */
const inFlight = new Map<string, number>()
let phase = 'start'

const postgres = await startPostgres([])
const pooler = await startPooler()
const instances = await Promise.all(Array.from({ length: INSTANCES }, startInstance))
const balancer = await startBalancer()
try {
  await Promise.all(instances.map(ready))
  const stopped = new AbortController()
  const load = Array.from({ length: WORKERS }, (_, number) => work(number, stopped.signal))

  await during('rolling restarts', async () => {
    for (const instance of instances) {
      instance.process.kill('SIGTERM')
      assert.equal(await exit(instance.process), 0, 'an instance did not stop in good order')
      instance.process = spawnInstance(instance.port)
      await ready(instance)
    }
  })
  await during('kill -9', async () => {
    const [victim] = instances as [Instance]
    victim.process.kill('SIGKILL')
    await exit(victim.process)
    await until(() => !victim.isReady, 'the balancer did not notice that an instance is gone')
    victim.process = spawnInstance(victim.port)
    await ready(victim)
  })
  await during('restart of PostgreSQL', async () => {
    await postgres.halt()
    await until(
      () => instances.every(({ isReady }) => !isReady),
      'an instance went on saying that it is ready',
    )
    await postgres.resume()
    await Promise.all(instances.map(ready))
  })
  await during('afterwards', () => Promise.all(instances.map(ready)))
  stopped.abort()
  await Promise.all(load)
  await report()
} finally {
  balancer.server.close()
  for (const { process } of instances) process.kill('SIGKILL')
  pooler?.stop()
  await postgres.stop()
}

/** What was sent before is answered before, and each client is answered again and again after the action. */
async function during(name: string, action: () => Promise<unknown>): Promise<void> {
  const before = phase
  phase = name
  await until(() => !inFlight.get(before), 'a request was not answered')
  await action()
  const enough = counts.acknowledged + WORKERS * 20
  await until(() => counts.acknowledged >= enough, 'the clients were not served')
}

async function until(condition: () => boolean, otherwise: string): Promise<void> {
  const since = performance.now()
  while (!condition()) {
    assert.ok(performance.now() - since < 20_000, otherwise)
    await delay(20)
  }
}

/** Adds animals and lists them. A creation that fails is repeated with its own Idempotency-Key until it is known. */
async function work(number: number, signal: AbortSignal): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let count = 0; !signal.aborted; count++) {
    const name = `${number}-${count}`
    const body = JSON.stringify({ name, categoryId: count })
    for (;;) {
      const answer = await send(agent, 'POST', '/v1/pets', body, { 'idempotency-key': name })
      if (answer?.status === 201) {
        acknowledged.set(name, answer.text)
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

async function send(
  agent: Agent,
  method: string,
  path: string,
  body?: string,
  headers = {},
): Promise<Answer | undefined> {
  const during = phase
  counts.requests++
  inFlight.set(during, (inFlight.get(during) ?? 0) + 1)
  try {
    const answer = await exchange(balancer.port, agent, method, path, body, headers)
    if (answer.status >= 400) fail(`${during}: ${answer.status}`)
    return answer
  } catch (error) {
    fail(`${during}: ${(error as NodeJS.ErrnoException).code ?? error}`)
    return undefined
  } finally {
    inFlight.set(during, (inFlight.get(during) ?? 1) - 1)
  }
}

function fail(what: string): void {
  counts.failed.set(what, (counts.failed.get(what) ?? 0) + 1)
}

function exchange(
  port: number,
  agent: Agent | undefined,
  method: string,
  path: string,
  body?: string,
  headers = {},
): Promise<Answer> {
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

function ready(instance: Instance): Promise<void> {
  return until(() => instance.isReady, 'an instance did not become ready')
}

function exit(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode)
  return new Promise(resolve => child.once('exit', resolve))
}

/** Round robin over those that say they are ready. A connection that is refused is tried on the next one. */
async function startBalancer(): Promise<{ server: Server; port: number }> {
  const agents = new Map(instances.map(instance => [instance, new Agent({ keepAlive: true })]))
  let turn = 0
  for (const instance of instances) {
    setInterval(async () => {
      const answer = await exchange(instance.port, undefined, 'GET', '/readyz').catch(() => undefined)
      instance.isReady = answer?.status === 200
    }, 100).unref()
  }
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const candidates = instances.filter(({ isReady }) => isReady)
    for (let attempt = 0; attempt < candidates.length; attempt++) {
      const instance = candidates[turn++ % candidates.length] as Instance
      const { authorization, ...headers } = incoming.headers
      delete headers.connection
      try {
        const answer = await exchange(
          instance.port,
          agents.get(instance),
          incoming.method ?? '',
          incoming.url ?? '',
          Buffer.concat(chunks).toString(),
          headers,
        )
        delete answer.headers.connection
        delete answer.headers['keep-alive']
        outgoing.writeHead(answer.status, answer.headers).end(answer.text)
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

/** PgBouncer in transaction mode, in front of PostgreSQL, where it is installed. */
async function startPooler(): Promise<{ url: string; stop(): void } | undefined> {
  try {
    execFileSync('pgbouncer', ['--version'], { stdio: 'ignore' })
  } catch {
    console.log('PgBouncer is not installed: the instances speak to PostgreSQL itself.')
    return undefined
  }
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-pgbouncer-'))
  chmodSync(folder, 0o755)
  const port = await freePort()
  const { hostname, port: serverPort } = new URL(postgres.url)
  writeFileSync(join(folder, 'users.txt'), '"postgres" "postgres"\n')
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
postgres = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${join(folder, 'users.txt')}
pool_mode = transaction
default_pool_size = 10
max_client_conn = 200
server_login_retry = 1
`,
  )
  const user = process.getuid?.() === 0 ? ['-u', 'postgres'] : []
  const child = spawn('pgbouncer', ['-q', ...user, join(folder, 'pgbouncer.ini')], { stdio: 'inherit' })
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    stop() {
      child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function report(): Promise<void> {
  const stored = new Map<string, string[]>()
  let path: string | undefined = '/v1/pets?limit=100'
  while (path !== undefined) {
    const { text, headers } = await exchange(balancer.port, undefined, 'GET', path)
    for (const { id, name } of parseJson(text) as { id: bigint; name: string }[]) {
      stored.set(name, [...(stored.get(name) ?? []), String(id)])
    }
    path = /<([^>]+)>/.exec(String(headers.link))?.[1]
  }
  const lost = [...acknowledged].filter(
    ([name, text]) => !stored.get(name)?.includes(String((parseJson(text) as { id: bigint }).id)),
  )
  const duplicated = [...stored].filter(([, ids]) => ids.length > 1)
  console.log(
    `through ${pooler ? 'PgBouncer in transaction mode' : 'no pooler'}, ${INSTANCES} instances, ${WORKERS} clients`,
  )
  console.log(`requests      ${counts.requests}`)
  console.log(`acknowledged  ${counts.acknowledged}`)
  for (const [what, count] of counts.failed) console.log(`failed        ${count} (${what})`)
  console.log(`lost          ${lost.length}`)
  console.log(`duplicated    ${duplicated.length}`)
  const failures = [...counts.failed.keys()]
  const isRight =
    lost.length === 0 &&
    duplicated.length === 0 &&
    !failures.some(
      what =>
        what.startsWith('rolling') ||
        what.startsWith('start') ||
        what.startsWith('afterwards') ||
        what.endsWith(': 500'),
    )
  console.log(isRight ? '1 passed, 0 failed' : '0 passed, 1 failed')
  process.exitCode = isRight ? 0 : 1
}
