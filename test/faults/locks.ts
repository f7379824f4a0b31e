// File locks that another process holds, or that the operating system refuses, while clients create animals on SQLite. Needs
// strace for the latter.
//
//   node test/faults/locks.ts [--quick]

import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { serve } from '../support/command.ts'
import { childrenOf } from '../support/processes.ts'
import { API_KEY, type Scope, temporaryFolder } from '../support/service.ts'
import { lockForWriting } from '../support/sqlite.ts'
import { inject, WITHOUT_STRACE } from '../support/strace.ts'
import { waitUntil } from '../support/wait.ts'
import { createContinuously, createdMore, describe, isIntact, send } from './creations.ts'
import { type Figure, type Options, report } from './figure.ts'
import { inScope, isAnswered } from './processes.ts'

/** Like a network file system whose server does not respond. */
const REFUSED = 'fcntl:error=ENOLCK'

/** How long the system refuses locks to the workers. SQLite would block one of them for as long. */
const REFUSED_MS = 6_000

const MAX_LIVEZ_MS = 3_000

/** Enough for both workers to get some of them. */
const CLIENTS = 8
const ASK_INTERVAL_MS = 5

const env = { ANIMAL_STORE_API_KEY: API_KEY }

export async function locks({ quick }: Options): Promise<Figure[]> {
  if (WITHOUT_STRACE) console.log(`Refused locks are left out: ${WITHOUT_STRACE}.`)
  return [
    await inScope(lockedDatabase),
    ...(WITHOUT_STRACE
      ? []
      : [await inScope(refusedLocks), await inScope(refusedLocksOfWorkers(quick ? 1 : 5))]),
  ]
}

async function lockedDatabase(scope: Scope): Promise<Figure> {
  const cwd = temporaryFolder(scope)
  const { address } = await serve(scope, ['--log-level', 'silent'], { cwd, env })
  const creations = createContinuously(() => address)
  await createdMore(creations)
  const unlock = await lockUnderLoad(scope, `${cwd}/data/production.db`)
  await waitUntil(() => creations.statuses.has('503'), { what: 'creations get 503', timeoutMs: 60_000 })
  const isReadable = (await send(address, false, 'GET', '/v1/pets'))?.status === 200
  unlock()
  await createdMore(creations)
  const outcome = await creations.finish()
  return {
    promise:
      'another process locks the database: creations get 503, lists are served, and the service recovers',
    measured: `${describe(outcome)}; a list was ${isReadable ? 'served' : 'not served'}`,
    holds: isReadable && isIntact(outcome),
  }
}

/** Tries until it gets the lock, which the service holds most of the time. */
async function lockUnderLoad(scope: Scope, path: string): Promise<() => void> {
  let unlock: (() => void) | undefined
  const isLocked = () => {
    try {
      unlock = lockForWriting(scope, path)
    } catch (error) {
      if (!(error as Error).message.includes('locked')) throw error
    }
    return unlock !== undefined
  }
  await waitUntil(isLocked, { what: 'the database is locked', timeoutMs: 60_000 })
  return () => unlock?.()
}

/** Clients create animals only after the first list: right after a commit, a list may get 503 (docs/decisions/unavailable.md). */
async function refusedLocks(scope: Scope): Promise<Figure> {
  const cwd = temporaryFolder(scope)
  const { address, child } = await serve(scope, ['--log-level', 'silent'], { cwd, env })
  const isReady = async () => (await send(address, false, 'GET', '/readyz'))?.status === 200
  await waitUntil(isReady, { what: 'the service is ready', timeoutMs: 60_000 })
  const strace = await inject(scope, [child.pid], REFUSED)
  const startedAt = performance.now()
  const isReadable = (await send(address, false, 'GET', '/v1/pets'))?.status === 200
  const isAlive = await isAnswered(address)
  const ms = performance.now() - startedAt
  const creations = createContinuously(() => address)
  await waitUntil(() => creations.statuses.has('503'), { what: 'creations get 503', timeoutMs: 60_000 })
  strace?.child.kill('SIGTERM')
  await strace?.ended
  await createdMore(creations)
  const outcome = await creations.finish()
  return {
    promise:
      'the system refuses file locks: creations get 503, lists and /livez are served, and the service recovers',
    measured: `${describe(outcome)}; a list was ${isReadable ? 'served' : 'not served'}; list and /livez took ${ms.toFixed(0)} ms`,
    holds: isReadable && isAlive && isIntact(outcome),
  }
}

/** Each worker writes and reads, so that the lock of the other one is out of date most of the time. */
function refusedLocksOfWorkers(rounds: number): (scope: Scope) => Promise<Figure> {
  return async scope => {
    const { address, child } = await serve(scope, ['--workers', '2', '--log-level', 'silent'], {
      cwd: temporaryFolder(scope),
      env,
    })
    const creations = createContinuously(() => address)
    const reads = askContinuously(address, '/v1/pets?limit=1')
    const checks = askContinuously(address, '/livez')
    for (let round = 0; round < rounds; round++) {
      await createdMore(creations)
      const strace = await inject(scope, childrenOf(child.pid), REFUSED)
      await delay(REFUSED_MS)
      strace?.child.kill('SIGTERM')
      await strace?.ended
    }
    const read = await reads.finish()
    const alive = await checks.finish()
    const outcome = await creations.finish()
    return {
      promise: `the system refuses file locks ${rounds === 1 ? 'once' : `${rounds} times`} while two workers write and read: lists get 200 or 503, and no worker blocks`,
      measured: `${describe(outcome)}; lists ${[...read.statuses].join(' or ')}, /livez within ${alive.longestMs.toFixed(0)} ms`,
      holds:
        isIntact(outcome) &&
        [...read.statuses].every(status => status === 200 || status === 503) &&
        alive.longestMs <= MAX_LIVEZ_MS,
    }
  }
}

interface Answers {
  readonly statuses: ReadonlySet<number | undefined>
  /** The time of the slowest. */
  readonly longestMs: number
}

/** Clients that send the same request again and again on connections that stay open: a blocked worker accepts no new ones. */
function askContinuously(address: string, path: string): { finish(): Promise<Answers> } {
  const statuses = new Set<number | undefined>()
  let isStopping = false
  let longestMs = 0

  async function ask(): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!isStopping) {
      const startedAt = performance.now()
      statuses.add((await send(address, agent, 'GET', path))?.status)
      longestMs = Math.max(longestMs, performance.now() - startedAt)
      await delay(ASK_INTERVAL_MS)
    }
    agent.destroy()
  }

  const running = Array.from({ length: CLIENTS }, ask)
  return {
    async finish() {
      isStopping = true
      await Promise.all(running)
      return { statuses, longestMs }
    },
  }
}

if (import.meta.main) await report(locks)
