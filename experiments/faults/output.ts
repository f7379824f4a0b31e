// The disk of the log and of all messages stalls, while clients add, change and remove animals on another one, and the service is stopped. Needs
// strace.

import { join } from 'node:path'
import { isAnswering, MAIN, signalUntilEnded, start } from '../../test/support/command.ts'
import { freePort } from '../../test/support/postgres.ts'
import { API_KEY, type Scope, temporaryFolder } from '../../test/support/service.ts'
import { hasEnded, inject, WITHOUT_STRACE } from '../../test/support/strace.ts'
import { waitUntil } from '../../test/support/wait.ts'
import type { Figure, Options } from './figure.ts'
import { inScope } from './processes.ts'
import { describe, isIntact, writeContinuously, wroteMore } from './writes.ts'

/** Much longer than anything that is measured here. */
const STALLED = 'write:delay_enter=600000000'

const MAX_STOP_MS = 10_000

export async function output({ quick }: Options): Promise<Figure[]> {
  if (WITHOUT_STRACE) {
    console.log(`Output that stalls is left out: ${WITHOUT_STRACE}.`)
    return []
  }
  return inScope(scope => stall(scope, quick ? 2 : 10))
}

/** Each time is followed by a restart: after one signal and after two in turns. */
async function stall(scope: Scope, times: number): Promise<Figure[]> {
  const cwd = temporaryFolder()
  const port = await freePort()
  const address = `http://127.0.0.1:${port}`
  const startService = async () => {
    const running = start(scope, ['serve', '--port', String(port)], {
      cwd,
      env: { ANIMAL_STORE_API_KEY: API_KEY },
      program: ['sh', '-c', 'exec "$@" > log 2>&1', 'sh', process.execPath, MAIN],
    })
    await waitUntil(() => isAnswering(address), { what: 'the service listens' })
    return running
  }
  let { child, ended } = await startService()
  const writes = writeContinuously(() => address)
  let slowest = 0
  for (let time = 1; time <= times; time++) {
    const strace = await inject(scope, [child.pid], STALLED, join(cwd, 'log'))
    await wroteMore(writes)
    const stoppedAt = performance.now()
    if (time % 2 === 0) signalUntilEnded(child, 'SIGTERM')
    else child.kill('SIGTERM')
    await waitUntil(() => hasEnded(child.pid), { what: 'the process has ended', timeoutMs: 60_000 })
    slowest = Math.max(slowest, performance.now() - stoppedAt)
    strace?.child.kill('SIGKILL')
    await ended
    ;({ child, ended } = await startService())
  }
  const outcome = await writes.finish()
  return [
    {
      promise: `the output stalls ${times} times under load, each time followed by SIGTERM and a restart: creations go on, and nothing acknowledged is lost`,
      measured: describe(outcome),
      holds: isIntact(outcome),
    },
    {
      promise: 'the output stalls: the process ends within 10 s of the first SIGTERM',
      measured: `${(slowest / 1_000).toFixed(2)} s`,
      holds: slowest <= MAX_STOP_MS,
      isSpeed: true,
    },
  ]
}
