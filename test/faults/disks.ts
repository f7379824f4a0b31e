// Disks that fail, fill up, stall or lose files, while clients create animals on SQLite. Needs strace for some of it.
//
//   node test/faults/disks.ts [--quick]

import { copyFileSync, renameSync, rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { MAIN, serve } from '../support/command.ts'
import { API_KEY, type Scope, temporaryFolder } from '../support/service.ts'
import { hasEnded, inject, isWaitingForDisk, WITHOUT_STRACE } from '../support/strace.ts'
import { waitUntil } from '../support/wait.ts'
import { createContinuously, createdMore, describe, isIntact, send } from './creations.ts'
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
    await inScope(removedWal(quick ? 2 : 20, 1)),
    await inScope(removedWal(quick ? 2 : 20, 2)),
    await inScope(lostDatabase('moved away', 'is gone', [''])),
    await inScope(lostDatabase('moved away with its WAL', 'is gone', ['', '-wal', '-shm'])),
    await inScope(
      lostDatabase('replaced', 'Another file is in the place of the database', [''], path =>
        copyFileSync(`${path}-moved`, path),
      ),
    ),
    await inScope(fullDisk),
    await inScope(fullLog),
    ...(hasStrace() ? [await inScope(diskErrors(quick ? 2 : 10)), await inScope(stalledDisk)] : []),
  ]
}

function hasStrace(): boolean {
  if (WITHOUT_STRACE) console.log(`Disk errors and stalls are left out: ${WITHOUT_STRACE}.`)
  return !WITHOUT_STRACE
}

/** What the service says when it has saved the contents of a WAL that was removed. */
const SAVED = /-wal was removed while the service used it\. Its contents are saved/g

const BACK = 'The database file is back.'

/** Each removal is followed by a restart: with SIGTERM and SIGKILL in turns. */
function removedWal(count: number, workers: number): (scope: Scope) => Promise<Figure> {
  return async scope => {
    const cwd = temporaryFolder(scope)
    const options = { cwd, env, isGroup: true }
    const args = ['--log-level', 'warn', '--workers', String(workers)]
    let service = await serve(scope, args, options)
    const creations = createContinuously(() => service.address)
    let lines = 0
    for (let removal = 1; removal <= count; removal++) {
      await createdMore(creations)
      rmSync(`${cwd}/data/production.db-wal`)
      const { printed, child, ended } = service
      const saved = () => [...printed.out.matchAll(SAVED)].length
      await waitUntil(() => saved() > 0, { what: 'the WAL is saved', timeoutMs: 60_000 })
      if (removal % 2 === 0) child.kill('SIGTERM')
      else process.kill(-Number(child.pid), 'SIGKILL')
      await ended
      lines += saved()
      service = await serve(scope, args, options)
    }
    const outcome = await creations.finish()
    return {
      promise: `the WAL is removed ${count} times under load, each time followed by a restart, with ${workers} ${workers === 1 ? 'process' : 'workers'}: creations get 503, the log says so, nothing acknowledged is lost`,
      measured: `${describe(outcome)}; ${lines} log lines`,
      holds: isIntact(outcome) && lines >= count && lines <= count * workers,
    }
  }
}

/** Moves the files with these suffixes away one by one. `replace` may put another file in their place. Then they are moved back. */
function lostDatabase(
  what: string,
  message: string,
  suffixes: readonly string[],
  replace: (path: string) => void = () => {},
): (scope: Scope) => Promise<Figure> {
  return async scope => {
    const cwd = temporaryFolder(scope)
    const path = `${cwd}/data/production.db`
    const { address, printed } = await serve(scope, ['--log-level', 'warn'], { cwd, env })
    const creations = createContinuously(() => address)
    await createdMore(creations)
    for (const suffix of suffixes) renameSync(path + suffix, `${path}-moved${suffix}`)
    replace(path)
    await waitUntil(() => printed.out.includes(message), { what: 'the log says so', timeoutMs: 60_000 })
    const list = (await send(address, false, 'GET', '/v1/pets'))?.status
    const isAlive = await isAnswered(address)
    for (const suffix of suffixes) renameSync(`${path}-moved${suffix}`, path + suffix)
    await createdMore(creations)
    await waitUntil(() => printed.out.includes(BACK), {
      what: 'the log says that it is back',
      timeoutMs: 60_000,
    })
    const outcome = await creations.finish()
    const lines = [message, BACK].map(text => printed.out.split(text).length - 1)
    return {
      promise: `the database is ${what}, then moved back: 503, /livez answers, one log line, then the service goes on by itself`,
      measured: `${describe(outcome)}; a list got ${list}; log lines: ${lines.join(' and ')}`,
      holds: isIntact(outcome) && list === 503 && isAlive && lines.every(count => count === 1),
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
  const { child, address } = await serve(scope, ['--log-level', 'silent'], { cwd, env })
  const creations = createContinuously(() => address, 4)
  await createdMore(creations)
  await inject(scope, [child.pid], 'fsync,fdatasync:delay_enter=20000000')
  await waitUntil(() => isWaitingForDisk(Number(child.pid)), { what: 'a thread waits for the disk' })
  const startedAt = performance.now()
  child.kill('SIGTERM')
  await waitUntil(() => hasEnded(child.pid), { what: 'the service has ended', timeoutMs: 60_000 })
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
