// Stopping the service: by signals, below npm and shells, under load and with slow clients.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { isAnswering, MAIN, serve, signalUntilEnded } from '../support/command.ts'
import { connectRaw, requestHead } from '../support/raw-http.ts'
import { client, temporaryFolder } from '../support/service.ts'
import { waitUntil } from '../support/wait.ts'

const KEY = 'a-secret-of-my-own-choosing'
const ANIMAL = '{"name":"Bella","categoryId":7}'

function startService(t: TestContext, ...args: string[]) {
  return serve(t, args, { cwd: temporaryFolder(), env: { ANIMAL_STORE_API_KEY: KEY } })
}

/** Sends all but the last byte of a POST, after the server sent 100 Continue. `answer` resolves with the response. */
async function beginPost(address: string): Promise<{ socket: Socket; answer: () => Promise<string> }> {
  const { socket, closed } = connectRaw(address)
  socket.write(
    requestHead(
      'POST /v1/pets HTTP/1.1',
      'host: x',
      `authorization: Bearer ${KEY}`,
      'content-type: application/json',
      'expect: 100-continue',
      `content-length: ${ANIMAL.length}`,
    ),
  )
  await once(socket, 'data')
  socket.write(ANIMAL.slice(0, -1))
  const answer = async () => {
    const received = await closed
    return received.slice(received.indexOf('HTTP/1.1', 1))
  }
  return { socket, answer }
}

function waitUntilClosed(address: string): Promise<void> {
  return waitUntil(async () => !(await isAnswering(address)), { what: 'the service no longer listens' })
}

// By itself, because the process has one second between its answer and its end.
test('stopping does not wait for a client that never ends its request, until its time is over', async t => {
  const { address, child, ended } = await startService(t, '--shutdown-delay', '5s')
  const other = await startService(t)
  const { answer } = await beginPost(address)
  const { answer: answerOfOther } = await beginPost(other.address)
  child.kill('SIGTERM')
  const first = await Promise.race([ended, answerOfOther()])
  assert.ok(typeof first === 'object', 'the other request was given up earlier')
  assert.equal(first.code, 0)
  assert.match(await answer(), /^HTTP\/1\.1 408 Request Timeout\r\n[\s\S]*"code":"request_timeout"/)
})

suite('stopping', { concurrency: true }, () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal} fails readiness, finishes the requests in flight and exits with 0`, async t => {
      const { address, child, ended } = await startService(t, '--shutdown-delay', '5s')
      const { send, close } = client(address, KEY)
      t.after(close)
      const { socket, answer } = await beginPost(address)
      assert.equal((await send('GET', '/readyz')).status, 200)
      child.kill(signal)
      let readiness = await send('GET', '/readyz')
      const isStopping = async () => {
        readiness = await send('GET', '/readyz')
        return readiness.status !== 200
      }
      await waitUntil(isStopping, { what: 'readiness fails' })
      assert.equal(readiness.status, 503)
      assert.equal(readiness.headers.connection, 'close')
      assert.equal((await send('GET', '/livez')).status, 200)
      const served = await send('GET', '/v1/pets')
      assert.equal(served.status, 200)
      assert.equal(served.headers.connection, 'close')
      // The request in flight is completed only after the server has stopped listening.
      await waitUntilClosed(address)
      socket.write(ANIMAL.slice(-1))
      assert.match(await answer(), /^HTTP\/1\.1 201 Created\r\n[\s\S]*"name":"Bella"/)
      const { code, out } = await ended
      assert.equal(code, 0)
      assert.match(out, /"msg":"stopped"/)
    })
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`a second ${signal} ends the process immediately`, async t => {
      const { address, child, ended, printed } = await startService(t, '--shutdown-delay', '5s')
      await beginPost(address)
      child.kill(signal)
      await waitUntil(() => printed.out.includes('stopping'), { what: 'the service is stopping' })
      signalUntilEnded(child, signal)
      assert.equal((await ended).signal, signal)
    })
  }

  test('one Ctrl+C that arrives twice, from the terminal and from npm, counts once', async t => {
    const { child, ended } = await startService(t, '--shutdown-delay', '0s')
    // Both arrive at the same moment, however busy the machine is.
    for (const signal of ['SIGSTOP', 'SIGINT', 'SIGTERM', 'SIGCONT'] as const) child.kill(signal)
    assert.equal((await ended).code, 0)
  })

  /** npm sets this variable, and its shell may not forward signals. */
  const UNDER_NPM = { npm_lifecycle_event: 'start' }

  test('the service stops with its parent, a shell that does not forward the signal, as with npm start', async t => {
    const cwd = temporaryFolder()
    const program = ['sh', '-c', '"$@"; exit', 'sh', process.execPath, MAIN]
    const { address, child, ended } = await serve(t, ['--shutdown-delay', '0s'], {
      cwd,
      env: UNDER_NPM,
      program,
    })
    child.kill('SIGTERM')
    await waitUntilClosed(address)
    assert.equal((await ended).signal, 'SIGTERM')
  })

  const FORWARDING = `const child = require('node:child_process').spawn(process.execPath, process.argv.slice(1), { stdio: 'inherit' })
    process.on('SIGTERM', () => child.kill('SIGTERM'))
    child.on('exit', code => process.exit(code))`
  for (const [how, program] of [
    ['a parent that forwards it', [process.execPath, '-e', FORWARDING, MAIN]],
    ['a shell that does not forward it', ['sh', '-c', '"$@"; exit', 'sh', process.execPath, MAIN]],
  ] as const) {
    test(`SIGTERM to the whole process group stops the service in an orderly way below ${how}`, async t => {
      const { address, child, printed } = await serve(t, ['--shutdown-delay', '1s'], {
        cwd: temporaryFolder(),
        env: UNDER_NPM,
        program,
        isGroup: true,
      })
      process.kill(-(child.pid as number), 'SIGTERM')
      await waitUntilClosed(address)
      await waitUntil(() => printed.out.includes('"stopped"'), { what: 'the service has stopped' })
    })
  }

  test('leaves the database as one file', async t => {
    const cwd = temporaryFolder()
    const { address, child, ended } = await serve(t, ['--shutdown-delay', '0s'], {
      cwd,
      env: { ANIMAL_STORE_API_KEY: KEY },
    })
    const { send, close } = client(address, KEY)
    t.after(close)
    await send('POST', '/v1/pets', { headers: { 'content-type': 'application/json' }, body: ANIMAL })
    child.kill('SIGTERM')
    assert.equal((await ended).code, 0)
    assert.deepEqual(readdirSync(join(cwd, 'data')), ['production.db'])
  })

  test('fails no request under load', async t => {
    const { address, child, ended } = await startService(t, '--shutdown-delay', '1s')
    let stopped = false
    const answered: number[] = []
    const failures: unknown[] = []
    const worker = async () => {
      const { send, close } = client(address, KEY)
      t.after(close)
      while (!stopped) {
        try {
          const { status, headers } = await send('GET', '/v1/pets')
          answered.push(status)
          // A load balancer sends nothing more on a connection that the server closes.
          if (headers.connection === 'close') return
        } catch (error) {
          failures.push(error)
        }
      }
    }
    const workers = Array.from({ length: 8 }, worker)
    await waitUntil(() => answered.length >= 200, { what: '200 requests are answered' })
    child.kill('SIGTERM')
    await Promise.all(workers)
    stopped = true
    assert.equal((await ended).code, 0)
    assert.deepEqual(failures, [])
    assert.ok(answered.every(status => status === 200))
  })
})
