// The processes of an experiment: the service, and clients that need thousands of connections.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { MAIN, serve } from '../support/command.ts'
import { API_KEY, type Scope, temporaryFolder } from '../support/service.ts'

/** Every connection takes a file descriptor. Runs the command that follows with the highest limit that it may have. */
const MANY_DESCRIPTORS = ['sh', '-c', 'ulimit -n $(ulimit -Hn); exec "$@"', 'sh'] as const

/** Runs the clean-ups of an experiment when it ends, the last one first. */
export async function inScope<Result>(work: (scope: Scope) => Promise<Result>): Promise<Result> {
  const cleanUps: (() => unknown)[] = []
  try {
    return await work({ after: cleanUp => void cleanUps.unshift(cleanUp) })
  } finally {
    for (const cleanUp of cleanUps) await cleanUp()
  }
}

export async function startService(scope: Scope): Promise<{ address: string; pid: number }> {
  const { address, child } = await serve(scope, ['--log-level', 'warn'], {
    cwd: temporaryFolder(scope),
    env: { ANIMAL_STORE_API_KEY: API_KEY },
    program: [...MANY_DESCRIPTORS, process.execPath, MAIN],
  })
  return { address, pid: child.pid ?? 0 }
}

/** Starts a program of this folder. It is killed at the end of the experiment. */
export function startProgram(
  scope: Scope,
  name: string,
  args: readonly string[],
): ChildProcessByStdio<null, Readable, null> {
  const [file, ...first] = MANY_DESCRIPTORS
  const program = fileURLToPath(new URL(name, import.meta.url))
  const child = spawn(file, [...first, process.execPath, program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  scope.after(() => child.kill('SIGKILL'))
  return child
}

/** The memory that a process uses now, in MiB. Linux only. */
export function memoryOf(pid: number): number {
  const [, kibibytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) / 1_024
}

/** Asks `/livez` on a new connection. Resolves with false if the connection is reset. */
export function isAnswered(address: string): Promise<boolean> {
  return new Promise(resolve => {
    request(`${address}/livez`, { agent: false, timeout: 10_000 }, response =>
      response.resume().on('end', () => resolve(response.statusCode === 200)),
    )
      .on('timeout', () => resolve(false))
      .on('error', () => resolve(false))
      .end()
  })
}
