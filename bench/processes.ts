// Starts a contender as a process of its own, sends it single requests, and finds out how much CPU time and memory it has used.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { freePort, type PostgresServer } from '../test/support/postgres.ts'
import { cpuMicrosOf, cpuMicrosOfServer, memoryOf } from '../test/support/processes.ts'
import { waitUntil } from '../test/support/wait.ts'
import type { Contender } from './contenders.ts'
import { ON_OTHER_CORES } from './load.ts'
import { API_KEY, type HttpRequest, type HttpResponse } from './workloads.ts'

const START_TIMEOUT_MS = 120_000
const RESPONSE_TIMEOUT_MS = 30_000

interface Usage {
  readonly cpuMicros: number
  readonly memoryMiB: number
  /** The CPU time of its PostgreSQL server. 0 without one. */
  readonly databaseCpuMicros: number
}

export interface RunningContender {
  readonly contender: Contender
  readonly address: string
  usage(): Usage
  send(request: HttpRequest, key?: string): Promise<HttpResponse>
  stop(): Promise<void>
}

/** `postgres` is a server that only this contender uses. */
export async function startContender(
  contender: Contender,
  environment: Readonly<Record<string, string>>,
  postgres?: PostgresServer,
): Promise<RunningContender> {
  const port = await freePort()
  const address = `http://127.0.0.1:${port}`
  const [program = '', ...args] = [...ON_OTHER_CORES, ...contender.command]
  const child = spawn(program, args, {
    env: {
      PATH: process.env.PATH ?? '',
      PORT: String(port),
      NODE_ENV: 'production',
      ANIMAL_STORE_API_KEY: API_KEY,
      ...environment,
    },
    // The log goes to /dev/null.
    stdio: 'ignore',
  })
  const ended = new AbortController()
  child.once('error', error => ended.abort(error))
  child.once('exit', (code, signal) =>
    ended.abort(new Error(`${contender.name} ended with ${signal ?? `exit code ${code}`}`)),
  )

  async function send({ method, path, body }: HttpRequest, key = API_KEY): Promise<HttpResponse> {
    const response = await fetch(`${address}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        'accept-encoding': 'identity',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
      signal: AbortSignal.any([ended.signal, AbortSignal.timeout(RESPONSE_TIMEOUT_MS)]),
    })
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
    }
  }

  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  async function stop(): Promise<void> {
    process.off('exit', kill)
    if (ended.signal.aborted) return
    const end = once(ended.signal, 'abort')
    kill()
    await end
  }

  const isListening = () => {
    ended.signal.throwIfAborted()
    return send({ method: 'GET', path: '/' }).then(
      () => true,
      () => false,
    )
  }
  try {
    await waitUntil(isListening, { what: `${contender.name} listens`, timeoutMs: START_TIMEOUT_MS })
  } catch (error) {
    await stop()
    throw error
  }
  return {
    contender,
    address,
    usage: () => ({
      cpuMicros: cpuMicrosOf(Number(child.pid)),
      memoryMiB: memoryOf(Number(child.pid)),
      databaseCpuMicros: postgres === undefined ? 0 : cpuMicrosOfServer(postgres.processes),
    }),
    send,
    stop,
  }
}
