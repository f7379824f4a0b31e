// A contender as a running process, which tells what it has used.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../test/support/postgres.ts'
import { API_KEY, type Ask, type Contender } from './contenders.ts'
import { ON_OTHER_CORES } from './load.ts'
import type { Answer } from './workloads.ts'

const ACCOUNTING = new URL('servers/accounting.js', import.meta.url).href
const START_WITHIN_MS = 120_000

export interface Usage {
  /** Of the whole process, all its threads included. */
  readonly cpuMicros: number
  readonly rssBytes: number
}

export interface FullAnswer extends Answer {
  readonly headers: IncomingHttpHeaders
}

export interface Running {
  readonly contender: Contender
  readonly address: string
  usage(): Promise<Usage>
  send(ask: Ask, key?: string): Promise<FullAnswer>
  /** Tells a bare server what to answer. */
  imitate(answers: Readonly<Record<string, FullAnswer>>): Promise<void>
  stop(): Promise<void>
}

/** `below` is a command to run it with, such as a tracer. */
export async function start(
  contender: Contender,
  environment: Readonly<Record<string, string>>,
  below: readonly string[] = ON_OTHER_CORES,
): Promise<Running> {
  const port = await freePort()
  const [program = '', ...args] = [
    ...below,
    ...[process.execPath, '--import', ACCOUNTING, contender.file, ...(contender.args ?? [])],
  ]
  const child = spawn(program, args, {
    env: {
      PATH: process.env.PATH ?? '',
      PORT: String(port),
      NODE_ENV: 'production',
      ANIMAL_STORE_API_KEY: API_KEY,
      ...environment,
    },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const address = `http://127.0.0.1:${port}`
  const agent = new Agent({ keepAlive: true })

  async function ask(message: object | string): Promise<unknown> {
    const answered = once(child, 'message')
    child.send(message)
    const [answer] = await answered
    return answer
  }

  const send = (sent: Ask, key = API_KEY) => sendTo(address, agent, sent, key)
  await answering(contender, child, () => send({ method: 'GET', path: '/' }))
  return {
    contender,
    address,
    send,
    usage: async () => (await ask('usage')) as Usage,
    async imitate(answers) {
      await ask({ answers })
    },
    async stop() {
      agent.destroy()
      const ended = once(child, 'exit')
      child.send('end')
      await ended
    },
  }
}

function sendTo(
  address: string,
  agent: Agent,
  { method, path, body }: Ask,
  key: string,
): Promise<FullAnswer> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json', 'content-length': body.length }),
    }
    const outgoing = request(`${address}${path}`, { agent, method, headers }, async incoming => {
      resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: await text(incoming) })
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

async function answering(
  { name }: Contender,
  child: ChildProcess,
  attempt: () => Promise<unknown>,
): Promise<void> {
  const deadline = performance.now() + START_WITHIN_MS
  while (performance.now() < deadline && child.exitCode === null) {
    try {
      await attempt()
      return
    } catch {
      await delay(50)
    }
  }
  child.kill('SIGKILL')
  throw new Error(`${name} did not start`)
}
