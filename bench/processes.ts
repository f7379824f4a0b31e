// Starts a contender as a process of its own, and finds out how much CPU time and memory it has used.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort, type PostgresServer } from '../test/support/postgres.ts'
import { API_KEY, type Contender } from './contenders.ts'
import { type HttpRequest, type HttpResponse, sendRequest } from './http.ts'
import { interrupted } from './interruption.ts'
import { ON_OTHER_CORES } from './load.ts'
import { cpuMicrosOfServer, type Usage, usageOf } from './usage.ts'

const REPORT_USAGE = new URL('servers/report-usage.js', import.meta.url).href

const START_TIMEOUT_MS = 120_000
const START_POLL_MS = 50
const REPLY_TIMEOUT_MS = 30_000
const STOP_TIMEOUT_MS = 10_000

export interface UsageWithDatabase extends Usage {
  /** The CPU time of its PostgreSQL server. 0 without one. */
  readonly databaseCpuMicros: number
}

/** One response for each method. */
export type ResponsesByMethod = Readonly<Record<string, HttpResponse>>

export interface RunningContender {
  readonly contender: Contender
  readonly address: string
  usage(): Promise<UsageWithDatabase>
  send(request: HttpRequest, key?: string): Promise<HttpResponse>
  /** Sets what the bare server answers. */
  setResponses(responses: ResponsesByMethod): Promise<void>
  stop(): Promise<void>
}

export interface StartOptions {
  /** The command that starts the process, such as `taskset` or a tracer. */
  readonly launcher?: readonly string[]
  /** A server that only this contender uses. */
  readonly postgres?: PostgresServer
}

export async function startContender(
  contender: Contender,
  environment: Readonly<Record<string, string>>,
  { launcher = ON_OTHER_CORES, postgres }: StartOptions = {},
): Promise<RunningContender> {
  interrupted.throwIfAborted()
  const port = await freePort()
  const { file, args: ownArgs = [], nodeFlags = [], isProgram = false } = contender
  const [program = '', ...args] = [
    ...launcher,
    ...(isProgram ? [] : [process.execPath, ...nodeFlags, '--import', REPORT_USAGE]),
    ...[file, ...ownArgs],
  ]
  const child = spawn(program, args, {
    env: {
      PATH: process.env.PATH ?? '',
      PORT: String(port),
      NODE_ENV: 'production',
      ANIMAL_STORE_API_KEY: API_KEY,
      ...environment,
    },
    stdio: isProgram ? ['pipe', 'ignore', 'ignore'] : ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const ended = new AbortController()
  child.once('exit', (code, signal) =>
    ended.abort(new Error(`${contender.name} ended with ${signal ?? `exit code ${code}`}`)),
  )
  child.on('error', error => {
    const hasStarted = child.pid !== undefined
    if (!hasStarted) ended.abort(error)
  })
  const stopWaiting = AbortSignal.any([interrupted, ended.signal])
  const address = `http://127.0.0.1:${port}`
  const agent = new Agent({ keepAlive: true })

  const send = (request: HttpRequest, key = API_KEY) => sendRequest(address, agent, key, request)

  async function ask(message: object | string): Promise<unknown> {
    const signal = AbortSignal.any([stopWaiting, AbortSignal.timeout(REPLY_TIMEOUT_MS)])
    const replied = once(child, 'message', { signal })
    child.send(message)
    const [reply] = await replied
    return reply
  }

  async function waitUntilListening(): Promise<void> {
    const deadline = performance.now() + START_TIMEOUT_MS
    while (performance.now() < deadline) {
      stopWaiting.throwIfAborted()
      try {
        await send({ method: 'GET', path: '/' })
        return
      } catch {
        await delay(START_POLL_MS)
      }
    }
    throw new Error(`${contender.name} did not start within ${START_TIMEOUT_MS / 1_000} seconds`)
  }

  async function stop(): Promise<void> {
    agent.destroy()
    if (ended.signal.aborted) return
    const end = once(ended.signal, 'abort')
    // report-usage.js ends the process when its channel closes; a program ends with its standard input.
    if (child.connected) child.disconnect()
    child.stdin?.end()
    const killTimer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await end
    clearTimeout(killTimer)
  }

  try {
    await waitUntilListening()
  } catch (error) {
    await stop()
    throw error
  }
  return {
    contender,
    address,
    send,
    async usage() {
      const own = isProgram ? usageOf(Number(child.pid)) : ((await ask('usage')) as Usage)
      const databaseCpuMicros = postgres === undefined ? 0 : cpuMicrosOfServer(postgres.processes)
      return { ...own, databaseCpuMicros }
    },
    async setResponses(responses) {
      await ask({ responses })
    },
    stop,
  }
}
