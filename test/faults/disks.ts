// Disks that fail, fill up, stall or lose files, while clients create animals on SQLite. Needs strace for some of it.
//
//   node test/faults/disks.ts [--quick]

import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { MAIN, serve } from '../support/command.ts'
import { API_KEY, type Scope, temporaryFolder } from '../support/service.ts'
import { inject, WITHOUT_STRACE } from '../support/strace.ts'
import { waitUntil } from '../support/wait.ts'
import { createContinuously, createdMore, describe, isIntact } from './creations.ts'
import { type Figure, type Options, report } from './figure.ts'
import { inScope, isAnswered } from './processes.ts'

/** A limit on the size of files has the effect of a full disk. In units of 512 bytes. */
const FULL_DISK = `trap '' XFSZ; ulimit -f 400; exec "$@"`

/** How long an injected error lasts. */
const ERROR_MS = 400

const MAX_STOP_MS = 10_000

const env = { ANIMAL_STORE_API_KEY: API_KEY }

export async function disks({ quick }: Options): Promise<Figure[]> {
  return [
    await inScope(removedWal(quick ? 3 : 20)),
    await inScope(fullDisk),
    await inScope(fullLog),
    ...(hasStrace() ? [await inScope(diskErrors(quick ? 2 : 10)), await inScope(stalledDisk)] : []),
  ]
}

function hasStrace(): boolean {
  if (WITHOUT_STRACE) console.log(`Disk errors and stalls are left out: ${WITHOUT_STRACE}.`)
  return !WITHOUT_STRACE
}

function removedWal(count: number): (scope: Scope) => Promise<Figure> {
  return async scope => {
    const cwd = temporaryFolder(scope)
    const first = await serve(scope, ['--log-level', 'silent'], { cwd, env })
    let { address } = first
    const creations = createContinuously(() => address)
    await createdMore(creations)
    for (let removal = 1; removal <= count; removal++) {
      rmSync(`${cwd}/data/production.db-wal`, { force: true })
      await createdMore(creations)
    }
    first.child.kill('SIGKILL')
    await first.ended
    ;({ address } = await serve(scope, ['--log-level', 'silent'], { cwd, env }))
    const outcome = await creations.finish()
    return {
      promise: `the WAL is removed ${count} times under load, then the service is killed: nothing acknowledged is lost`,
      measured: describe(outcome),
      holds: isIntact(outcome),
    }
  }
}

async function fullDisk(scope: Scope): Promise<Figure> {
  const cwd = temporaryFolder(scope)
  const program = ['sh', '-c', FULL_DISK, 'sh', process.execPath, MAIN]
  const limited = await serve(scope, ['--log-level', 'silent'], { cwd, env, program })
  let { address } = limited
  const creations = createContinuously(() => address)
  await waitUntil(() => (creations.statuses.get('503') ?? 0) > 50, {
    what: 'the disk is full',
    timeoutMs: 120_000,
  })
  const isAlive = await isAnswered(address)
  limited.child.kill('SIGTERM')
  await limited.ended
  ;({ address } = await serve(scope, ['--log-level', 'silent'], { cwd, env }))
  const outcome = await creations.finish()
  return {
    promise: 'a full disk: 503, /livez answers, and nothing acknowledged is lost',
    measured: `${describe(outcome)}; /livez ${isAlive ? 'answered' : 'did not answer'}`,
    holds: isAlive && isIntact(outcome),
  }
}

async function fullLog(scope: Scope): Promise<Figure> {
  const cwd = temporaryFolder(scope)
  const program = ['sh', '-c', 'exec "$@" > /dev/full', 'sh', process.execPath, MAIN]
  const { address } = await serve(scope, [], { cwd, env, program })
  const creations = createContinuously(() => address)
  await createdMore(creations)
  const outcome = await creations.finish()
  return {
    promise: 'the log cannot be written: the service keeps serving',
    measured: describe(outcome),
    holds: isIntact(outcome),
  }
}

function diskErrors(count: number): (scope: Scope) => Promise<Figure> {
  return async scope => {
    const cwd = temporaryFolder(scope)
    const service = await serve(scope, ['--log-level', 'silent'], { cwd, env })
    let { address } = service
    const creations = createContinuously(() => address)
    await createdMore(creations)
    const errors = ['pwrite64:error=EIO', 'fsync,fdatasync:error=EIO', 'pwrite64:error=ENOSPC']
    for (let round = 0; round < count; round++) {
      await injectFor(ERROR_MS, scope, service.child.pid, errors[round % errors.length] ?? '')
      await createdMore(creations)
    }
    service.child.kill('SIGKILL')
    await service.ended
    ;({ address } = await serve(scope, ['--log-level', 'silent'], { cwd, env }))
    const outcome = await creations.finish()
    return {
      promise: `${count} periods of failing writes and syncs (EIO, ENOSPC), then a kill: nothing acknowledged is lost`,
      measured: describe(outcome),
      holds: isIntact(outcome),
    }
  }
}

async function stalledDisk(scope: Scope): Promise<Figure> {
  const cwd = temporaryFolder(scope)
  const service = await serve(scope, ['--log-level', 'silent'], { cwd, env })
  const creations = createContinuously(() => service.address, 4)
  await createdMore(creations)
  await inject(scope, [service.child.pid], 'fsync,fdatasync:delay_enter=20000000')
  await delay(ERROR_MS)
  const startedAt = performance.now()
  service.child.kill('SIGTERM')
  // strace keeps the process in the process table until the delay ends, but the process no longer listens.
  await waitUntil(async () => !(await isAnswered(service.address)), {
    what: 'the service has ended',
    timeoutMs: 60_000,
  })
  const ms = performance.now() - startedAt
  await creations.abandon()
  return {
    promise: 'SIGTERM while every sync stalls for 20 s: the service ends within 10 s',
    measured: `${(ms / 1_000).toFixed(1)} s`,
    holds: ms <= MAX_STOP_MS,
    isSpeed: true,
  }
}

/** Ends the fault after this time. */
async function injectFor(ms: number, scope: Scope, pid: number | undefined, fault: string): Promise<void> {
  const strace = await inject(scope, [pid], fault)
  await delay(ms)
  strace?.child.kill('SIGTERM')
  await strace?.ended
}

if (import.meta.main) await report(disks)
