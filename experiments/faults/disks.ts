// Disks that fail or lose the write-ahead log, while clients create animals on SQLite. Disk errors need strace.

import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { serve } from '../../test/support/command.ts'
import { API_KEY, type Scope, temporaryFolder } from '../../test/support/service.ts'
import { inject, WITHOUT_STRACE } from '../../test/support/strace.ts'
import { waitUntil } from '../../test/support/wait.ts'
import { createContinuously, createdMore, describe, isIntact } from './creations.ts'
import type { Figure, Options } from './figure.ts'
import { inScope } from './processes.ts'

/** How long an injected error lasts. */
const ERROR_MS = 400

const env = { ANIMAL_STORE_API_KEY: API_KEY }

export async function disks({ quick }: Options): Promise<Figure[]> {
  const figures = [await inScope(removedWal(quick ? 2 : 20, 1)), await inScope(removedWal(quick ? 2 : 20, 2))]
  if (WITHOUT_STRACE) console.log(`Disk errors are left out: ${WITHOUT_STRACE}.`)
  else figures.push(await inScope(diskErrors(quick ? 2 : 10)))
  return figures
}

/** What the service says when it has saved the contents of a WAL that was removed. */
const SAVED = /-wal was removed while the service used it\. Its contents are saved/g

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

function diskErrors(count: number): (scope: Scope) => Promise<Figure> {
  return async scope => {
    const cwd = temporaryFolder(scope)
    const service = await serve(scope, ['--log-level', 'silent'], { cwd, env })
    let { address } = service
    const creations = createContinuously(() => address)
    await createdMore(creations)
    const errors = ['pwrite64:error=EIO', 'fsync,fdatasync:error=EIO', 'pwrite64:error=ENOSPC']
    for (let round = 0; round < count; round++) {
      const strace = await inject(scope, [service.child.pid], errors[round % errors.length] ?? '')
      await delay(ERROR_MS)
      strace?.child.kill('SIGTERM')
      await strace?.ended
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
