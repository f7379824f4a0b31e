// Disks that fail or lose the files beside the database, while clients add, change and remove animals on SQLite. Disk errors need strace.

import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { run, serve } from '../../test/support/command.ts'
import { API_KEY, type Scope, temporaryFolder } from '../../test/support/service.ts'
import { queryValue } from '../../test/support/sqlite.ts'
import { hasEnded, inject, WITHOUT_STRACE } from '../../test/support/strace.ts'
import { waitUntil } from '../../test/support/wait.ts'
import type { Figure, Options } from './figure.ts'
import { inScope, isAnswered } from './processes.ts'
import { describe, isIntact, send, writeContinuously, wroteMore } from './writes.ts'

/** How long an injected error lasts. */
const ERROR_MS = 400

/** How long a stalled service may take to answer, and to end after SIGTERM. */
const MAX_ANSWER_MS = 2_000
const MAX_STOP_MS = 10_000

const env = { ANIMAL_STORE_API_KEY: API_KEY }

export async function disks({ quick }: Options): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const files of Object.keys(LOSSES) as (keyof typeof LOSSES)[])
    for (const workers of quick ? [2] : [1, 2])
      figures.push(await inScope(removed(files, quick ? 2 : 20, workers)))
  if (WITHOUT_STRACE) console.log(`Disk errors are left out: ${WITHOUT_STRACE}.`)
  else {
    figures.push(await inScope(diskErrors(quick ? 2 : 10)))
    figures.push(await inScope(stalled('writes', 'fsync,fdatasync,pwrite64')))
    figures.push(await inScope(stalled('reads', 'pread64,statx')))
  }
  return figures
}

/** What is removed, and what the service then says. */
const LOSSES = {
  '-wal': /-wal was removed while it was in use\. .* Everything that it held was copied/g,
  '-shm': /-shm was removed while it was in use\./g,
  '-wal -shm': /-wal was removed while it was in use, .* Everything that it held was copied/g,
}

/**
 * After each removal, commands store an animal and a key. Each is followed by a restart: with SIGTERM and SIGKILL in turns.
 */
function removed(
  files: keyof typeof LOSSES,
  count: number,
  workers: number,
): (scope: Scope) => Promise<Figure> {
  return async scope => {
    const cwd = temporaryFolder()
    const path = `${cwd}/data/production.db`
    const options = { cwd, env, isGroup: true }
    const args = ['--log-level', 'warn', '--workers', String(workers)]
    let service = await serve(scope, args, options)
    const writes = writeContinuously(() => service.address)
    let lines = 0
    for (let removal = 1; removal <= count; removal++) {
      await wroteMore(writes)
      for (const suffix of files.split(' ').reverse()) rmSync(path + suffix)
      const { printed, child, ended } = service
      const said = () => [...printed.out.matchAll(LOSSES[files])].length
      await waitUntil(() => said() === workers, { what: 'every process says so', timeoutMs: 60_000 })
      await storeByCommands(scope, cwd, `imported-${removal}`)
      if (removal % 2 === 0) child.kill('SIGTERM')
      else process.kill(-Number(child.pid), 'SIGKILL')
      await ended
      lines += said()
      service = await serve(scope, args, options)
    }
    const outcome = await writes.finish()
    const imported = Number(queryValue(path, "select count(*) from animals where name like 'imported-%'"))
    const keys = Number(queryValue(path, 'select count(*) from api_keys'))
    const isOk = queryValue(path, 'pragma integrity_check') === 'ok'
    return {
      promise: `${files.replace(' ', ' and ')} removed ${count} times under load, then an import and a new key, then a restart, with ${workers} ${workers === 1 ? 'process' : 'workers'}: the log says so, nothing acknowledged is lost`,
      measured: `${describe(outcome)}; ${imported} imported, ${keys} keys; ${lines} log lines; integrity_check ${isOk ? 'ok' : 'failed'}`,
      holds: isIntact(outcome) && imported === count && keys === count && isOk,
    }
  }
}

async function storeByCommands(scope: Scope, cwd: string, name: string): Promise<void> {
  const input = `${JSON.stringify({ name, categoryId: 1 })}\n`
  const ended = await Promise.all([
    run(scope, ['import', '-', '--format', 'jsonl'], { cwd, input }),
    run(scope, ['keys', 'create', '--name', name], { cwd }),
  ])
  for (const { code, err } of ended) if (code !== 0) throw new Error(err)
}

function diskErrors(count: number): (scope: Scope) => Promise<Figure> {
  return async scope => {
    const cwd = temporaryFolder()
    const service = await serve(scope, ['--log-level', 'silent'], { cwd, env })
    let { address } = service
    const writes = writeContinuously(() => address)
    await wroteMore(writes)
    const errors = ['pwrite64:error=EIO', 'fsync,fdatasync:error=EIO', 'pwrite64:error=ENOSPC']
    for (let round = 0; round < count; round++) {
      const strace = await inject(scope, [service.child.pid], errors[round % errors.length] ?? '')
      await delay(ERROR_MS)
      strace?.child.kill('SIGTERM')
      await strace?.ended
      await wroteMore(writes)
    }
    service.child.kill('SIGKILL')
    await service.ended
    ;({ address } = await serve(scope, ['--log-level', 'silent'], { cwd, env }))
    const outcome = await writes.finish()
    return {
      promise: `${count} periods of failing writes and syncs (EIO, ENOSPC), then a kill: nothing acknowledged is lost`,
      measured: describe(outcome),
      holds: isIntact(outcome),
    }
  }
}

/**
 * The service reads and looks at its files in the main thread, so only writes can stall without blocking it
 * (docs/reliability.md). The second figure of reads is what a service manager is for.
 */
function stalled(what: 'writes' | 'reads', calls: string): (scope: Scope) => Promise<Figure> {
  return async scope => {
    const cwd = temporaryFolder()
    const first = await serve(scope, ['--log-level', 'silent'], { cwd, env })
    let { address } = first
    const writes = writeContinuously(() => address)
    await wroteMore(writes)
    const strace = await inject(scope, [first.child.pid], `${calls}:delay_enter=600000000`)
    void send(address, false, 'GET', '/v1/pets')
    await delay(ERROR_MS)
    const isAlive = await Promise.race([isAnswered(address), delay(MAX_ANSWER_MS, false)])
    first.child.kill('SIGTERM')
    const isEnded = await waitUntil(() => hasEnded(first.child.pid), {
      what: 'its end',
      timeoutMs: MAX_STOP_MS,
    })
      .then(() => true)
      .catch(() => false)
    first.child.kill('SIGKILL')
    strace?.child.kill('SIGKILL')
    await first.ended
    ;({ address } = await serve(scope, ['--log-level', 'silent'], { cwd, env }))
    const outcome = await writes.finish()
    const expected = what === 'writes'
    const say = (is: boolean) => (is ? '' : 'not ')
    return {
      promise: `${what} of the disk stall, then SIGTERM: /livez is ${say(expected)}answered, and the process does ${say(expected)}end within 10 s; after SIGKILL and a restart nothing acknowledged is lost`,
      measured: `/livez was ${say(isAlive)}answered, the process did ${say(isEnded)}end; ${describe(outcome)}`,
      holds: isAlive === expected && isEnded === expected && isIntact(outcome),
    }
  }
}
