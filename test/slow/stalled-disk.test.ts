// Stopping while the disk stalls, or the output: strace delays every fsync, or every write to the log, like a disk that has stopped
// responding.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { isAnswering, MAIN, type Running, serve, signalUntilEnded, start } from '../support/command.ts'
import { freePort } from '../support/postgres.ts'
import { childrenOf } from '../support/processes.ts'
import { connectRaw, requestHead } from '../support/raw-http.ts'
import { API_KEY, temporaryFolder } from '../support/service.ts'
import { hasEnded, inject, isWaitingForDisk, WITHOUT_STRACE } from '../support/strace.ts'
import { waitUntil } from '../support/wait.ts'

const ANIMAL = '{"name":"Bella","categoryId":7}'

/** Much longer than anything that is measured here. */
const STALLED = 'fsync,fdatasync:delay_enter=120000000'

/** Sends a creation whose commit waits for the disk. */
async function beginCreation(address: string, child: Running['child']): Promise<void> {
  const { socket } = connectRaw(address)
  const head = ['host: x', `authorization: Bearer ${API_KEY}`, 'content-type: application/json']
  socket.write(requestHead('POST /v1/pets HTTP/1.1', ...head, `content-length: ${ANIMAL.length}`) + ANIMAL)
  const pids = [Number(child.pid), ...childrenOf(child.pid)]
  await waitUntil(() => pids.some(isWaitingForDisk), { what: 'a thread waits for the disk' })
}

suite('while the disk stalls', { concurrency: 3, skip: WITHOUT_STRACE }, () => {
  for (const [processes, args] of [
    ['one process', []],
    ['two workers', ['--workers', '2']],
  ] as const) {
    async function startStalled(t: TestContext) {
      const running = await serve(t, ['--shutdown-delay', '0s', ...args], {
        cwd: temporaryFolder(),
        env: { ANIMAL_STORE_API_KEY: API_KEY },
        isGroup: true,
      })
      const { child, address } = running
      const strace = await inject(t, args.length === 0 ? [child.pid] : childrenOf(child.pid), STALLED)
      if (strace === undefined) {
        t.skip('this user may not trace processes')
        return undefined
      }
      await beginCreation(address, child)
      return { ...running, strace }
    }

    test(`SIGTERM ends ${processes} in time`, async t => {
      const running = await startStalled(t)
      if (running === undefined) return
      const { child, ended, strace, said } = running
      child.kill('SIGTERM')
      await said(/The service cannot stop in time, perhaps because a disk or the output does not respond\./)
      await waitUntil(() => hasEnded(child.pid), { what: 'the process has ended' })
      strace.child.kill('SIGKILL')
      assert.equal((await ended).signal, 'SIGTERM')
    })

    test(`a second signal ends ${processes} at once`, async t => {
      const running = await startStalled(t)
      if (running === undefined) return
      const { child, ended, strace, printed } = running
      child.kill('SIGTERM')
      await waitUntil(() => printed.out.includes('stopping'), { what: 'the service is stopping' })
      signalUntilEnded(child, 'SIGTERM')
      await waitUntil(() => hasEnded(child.pid), { what: 'the process has ended' })
      strace.child.kill('SIGKILL')
      const { signal, err } = await ended
      assert.equal(signal, 'SIGTERM')
      assert.doesNotMatch(err, /does not respond/)
    })
  }
})

suite('while the output stalls, of which the log and all messages are parts,', {
  concurrency: 2,
  skip: WITHOUT_STRACE,
}, () => {
  async function startStalled(t: TestContext) {
    const cwd = temporaryFolder()
    const port = await freePort()
    const running = start(t, ['serve', '--port', String(port), '--shutdown-delay', '0s'], {
      cwd,
      env: { ANIMAL_STORE_API_KEY: API_KEY },
      program: ['sh', '-c', 'exec "$@" > log 2>&1', 'sh', process.execPath, MAIN],
    })
    const address = `http://127.0.0.1:${port}`
    await waitUntil(() => isAnswering(address), { what: 'the service listens' })
    const strace = await inject(t, [running.child.pid], 'write:delay_enter=120000000', join(cwd, 'log'))
    if (strace === undefined) {
      t.skip('this user may not trace processes')
      return undefined
    }
    return { ...running, address, strace }
  }

  for (const [what, isRepeated] of [
    ['SIGTERM ends the process in time', false],
    ['a second signal ends the process at once', true],
  ] as const) {
    test(what, async t => {
      const running = await startStalled(t)
      if (running === undefined) return
      const { child, ended, address, strace } = running
      child.kill('SIGTERM')
      await waitUntil(async () => !(await isAnswering(address)), { what: 'the service no longer listens' })
      if (isRepeated) signalUntilEnded(child, 'SIGTERM')
      await waitUntil(() => hasEnded(child.pid), { what: 'the process has ended', timeoutMs: 60_000 })
      strace.child.kill('SIGKILL')
      assert.equal((await ended).signal, 'SIGTERM')
    })
  }
})
