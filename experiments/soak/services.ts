// The services of a soak test: some of their processes are killed and started again, and others live on.

import { type CommandOptions, serve } from '../../test/support/command.ts'
import { childrenOf } from '../../test/support/processes.ts'
import type { Scope } from '../../test/support/service.ts'
import { waitUntil } from '../../test/support/wait.ts'

/** Long enough for a busy machine. */
const RESTART_TIMEOUT_MS = 60_000

export interface Size {
  readonly instances: number
  readonly workers: number
}

export interface Services {
  /** Where each instance listens now. */
  addresses(): string[]
  /** The processes that `killOther` leaves alone, by name. */
  readonly steady: Readonly<Record<string, number>>
  /** Kills the last worker, or the last instance. */
  killOther(): Promise<void>
  /** Kills any worker, any instance, or an instance with its workers. */
  killAny(): Promise<void>
  killAll(): Promise<void>
  kills(): number
}

/** Starts the instances, each with its workers. All use one database. */
export async function startServices(
  scope: Scope,
  { instances, workers }: Size,
  options: CommandOptions,
): Promise<Services> {
  const start = () => serve(scope, ['--log-level', 'warn', '--workers', String(workers)], options)
  const running = await Promise.all(Array.from({ length: instances }, start))
  const pids = () => running.map(({ child }) => Number(child.pid))
  const [first = 0] = pids()
  const [firstWorker = 0] = childrenOf(first)
  let kills = 0

  async function killInstance(index: number): Promise<void> {
    kills++
    const pid = pids()[index] ?? 0
    for (const each of [pid, ...childrenOf(pid)]) process.kill(each, 'SIGKILL')
    await running[index]?.ended
    running[index] = await start()
  }

  /** Resolves when the primary of the first instance has started another one. */
  async function killWorker(index: number): Promise<void> {
    kills++
    const [primary = 0] = pids()
    const worker = childrenOf(primary).at(index) ?? 0
    process.kill(worker, 'SIGKILL')
    const isReplaced = () => {
      const children = childrenOf(primary)
      return children.length === workers && !children.includes(worker)
    }
    await waitUntil(isReplaced, { what: 'a worker is replaced', timeoutMs: RESTART_TIMEOUT_MS })
  }

  return {
    addresses: () => running.map(({ address }) => address),
    steady: workers > 1 ? { primary: first, 'first worker': firstWorker } : { 'first instance': first },
    killOther: () => (workers > 1 ? killWorker(-1) : killInstance(instances - 1)),
    killAny: () =>
      workers > 1 && Math.random() < 0.5 ? killWorker(draw(workers)) : killInstance(draw(instances)),
    async killAll() {
      await Promise.all(running.keys().map(killInstance))
    },
    kills: () => kills,
  }
}

function draw(count: number): number {
  return Math.floor(Math.random() * count)
}
