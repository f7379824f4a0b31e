// The processes of an experiment: the service, and clients that need thousands of connections.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { type Agent, request } from 'node:http'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { serve } from '../../test/support/command.ts'
import { API_KEY, type Scope, temporaryFolder } from '../../test/support/service.ts'

/** Runs the clean-ups of an experiment when it ends, the last one first. */
export async function inScope<Result>(work: (scope: Scope) => Promise<Result>): Promise<Result> {
  const cleanUps: (() => unknown)[] = []
  try {
    return await work({ after: cleanUp => void cleanUps.unshift(cleanUp) })
  } finally {
    for (const cleanUp of cleanUps) await cleanUp()
  }
}

/** Starts the service, by default on a new SQLite file. */
export async function startService(scope: Scope, databaseUrl = 'sqlite:animals.db') {
  const env = { ANIMAL_STORE_API_KEY: API_KEY, DATABASE_URL: databaseUrl }
  const args = ['--log-level', 'warn', '--metrics-port', '0']
  const { address, child, said } = await serve(scope, args, { cwd: temporaryFolder(), env })
  const metricsAddress = new URL(await said(/The metrics are at (http:\S+)/)).origin
  return { address, metricsAddress, pid: Number(child.pid) }
}

/** Starts a program of this folder. It is killed at the end of the experiment. */
export function startProgram(
  scope: Scope,
  name: string,
  ...args: readonly (string | number)[]
): ChildProcessByStdio<null, Readable, null> {
  const program = fileURLToPath(new URL(name, import.meta.url))
  const child = spawn(process.execPath, [program, ...args.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  scope.after(() => child.kill('SIGKILL'))
  return child
}

/** Runs load-generator.ts, and returns what it counted. */
export async function generateLoad(
  scope: Scope,
  address: string,
  connections: number,
  seconds: number,
  kind: string,
): Promise<Record<string, number>> {
  const generator = startProgram(scope, 'load-generator.ts', address, connections, seconds, kind, API_KEY)
  return JSON.parse(await text(generator.stdout))
}

/** Asks `/livez`, by default on a new connection. Resolves with false if the connection is reset. */
export function isAnswered(address: string, agent: Agent | false = false): Promise<boolean> {
  return new Promise(resolve => {
    request(`${address}/livez`, { agent, timeout: 10_000 }, response =>
      response
        .resume()
        .on('end', () => resolve(response.statusCode === 200))
        .on('error', () => resolve(false)),
    )
      .on('timeout', () => resolve(false))
      .on('error', () => resolve(false))
      .end()
  })
}
