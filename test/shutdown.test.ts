import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { suite, type TestContext, test } from 'node:test'
import { MAIN, run, serve } from './support/command.ts'
import { client, temporaryFolder } from './support/service.ts'

const KEY = 'a-secret-of-my-own-choosing'
const ANIMAL = '{"name":"Bella","categoryId":7}'

function startService(t: TestContext, ...args: string[]) {
  return serve(t, args, { cwd: temporaryFolder(t), env: { ANIMAL_STORE_API_KEY: KEY } })
}

/** A POST of which everything but the last byte has been sent, and which the server has begun to read. */
async function beginPost(address: string): Promise<{ socket: Socket; answer: Promise<string> }> {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname)
  let text = ''
  const answer = new Promise<string>((resolve, reject) => {
    socket.setEncoding('utf8').on('data', chunk => {
      text += chunk
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(text.slice(text.indexOf('HTTP/1.1', 1))))
  })
  const head = [
    'POST /v1/pets HTTP/1.1',
    'host: x',
    `authorization: Bearer ${KEY}`,
    'content-type: application/json',
    'expect: 100-continue',
    `content-length: ${ANIMAL.length}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  await new Promise(resolve => socket.once('data', resolve))
  socket.write(ANIMAL.slice(0, -1))
  return { socket, answer }
}

suite('stopping', { concurrency: true }, () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal}: readiness fails, what is in flight is answered, exit code 0`, async t => {
      const { address, child, ended } = await startService(t, '--shutdown-delay', '1s')
      const { send, close } = client(address, KEY)
      t.after(close)
      const { socket, answer } = await beginPost(address)
      assert.equal((await send('GET', '/readyz')).status, 200)
      const since = performance.now()
      child.kill(signal)
      let readiness = await send('GET', '/readyz')
      while (readiness.status === 200) readiness = await send('GET', '/readyz')
      assert.equal(readiness.status, 503)
      assert.equal(readiness.headers.connection, 'close')
      assert.equal((await send('GET', '/livez')).status, 200)
      const served = await send('GET', '/v1/pets')
      assert.equal(served.status, 200)
      assert.equal(served.headers.connection, 'close')
      // Only once the listener is closed does the request in flight go on.
      while (
        await fetch(`${address}/livez`).then(
          () => true,
          () => false,
        )
      );
      socket.write(ANIMAL.slice(-1))
      assert.match(await answer, /^HTTP\/1\.1 201 Created\r\n[\s\S]*"name":"Bella"/)
      const { code, out } = await ended
      assert.equal(code, 0)
      assert.ok(performance.now() - since < 10_000)
      assert.match(out, /"msg":"stopped"/)
    })
  }

  test('a client that never ends its request does not keep the service from stopping within 10 seconds', async t => {
    const { address, child, ended } = await startService(t, '--shutdown-delay', '5s')
    const { answer } = await beginPost(address)
    const since = performance.now()
    child.kill('SIGTERM')
    assert.equal((await ended).code, 0)
    assert.ok(performance.now() - since < 10_000, `${performance.now() - since} ms`)
    assert.match(await answer, /^HTTP\/1\.1 408 Request Timeout\r\n[\s\S]*"code":"request_timeout"/)
  })

  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    test(`a second ${signal} ends it at once`, async t => {
      const { address, child, ended, printed } = await startService(t, '--shutdown-delay', '5s')
      const { answer } = await beginPost(address)
      child.kill(signal)
      const since = performance.now()
      while (!printed.out.includes('stopping') || performance.now() - since < 200)
        await fetch(`${address}/livez`)
      child.kill(signal)
      assert.equal((await ended).code, code)
      await answer.catch(() => {})
    })
  }

  test('one Ctrl-C that arrives twice, from the terminal and from npm, is one', async t => {
    const { child, ended } = await startService(t, '--shutdown-delay', '0s')
    child.kill('SIGINT')
    child.kill('SIGINT')
    assert.equal((await ended).code, 0)
  })

  test('below a shell that does not pass the signal on, as with npm start, it stops too', async t => {
    const cwd = temporaryFolder(t)
    const program = ['sh', '-c', '"$@"; exit', 'sh', process.execPath, MAIN]
    const { address, child } = await serve(t, ['--stop-with-parent', '--shutdown-delay', '0s'], {
      cwd,
      program,
    })
    child.kill('SIGTERM')
    const answers = () =>
      fetch(`${address}/livez`).then(
        () => true,
        () => false,
      )
    while (await answers());
    assert.equal(child.exitCode ?? child.signalCode, 'SIGTERM')
  })

  const FORWARDING = `const child = require('node:child_process').spawn(process.execPath, process.argv.slice(1), { stdio: 'inherit' })
    process.on('SIGTERM', () => child.kill('SIGTERM'))
    child.on('exit', code => process.exit(code))`
  for (const [how, program] of [
    ['a parent that passes it on', [process.execPath, '-e', FORWARDING, MAIN]],
    ['a shell that does not', ['sh', '-c', '"$@"; exit', 'sh', process.execPath, MAIN]],
  ] as const) {
    test(`one SIGTERM to the whole process group, below ${how}, stops it in good order`, async t => {
      const args = ['--stop-with-parent', '--shutdown-delay', '1s']
      const { address, child, printed } = await serve(t, args, {
        cwd: temporaryFolder(t),
        program,
        isGroup: true,
      })
      process.kill(-(child.pid as number), 'SIGTERM')
      while (
        await fetch(`${address}/livez`).then(
          () => true,
          () => false,
        )
      );
      while (!printed.out.includes('"stopped"')) await new Promise(resolve => setImmediate(resolve))
    })
  }

  test('the database is left closed: one file, which opens again', async t => {
    const cwd = temporaryFolder(t)
    const { address, child, ended } = await serve(t, ['--shutdown-delay', '0s'], {
      cwd,
      env: { ANIMAL_STORE_API_KEY: KEY },
    })
    const { send, close } = client(address, KEY)
    t.after(close)
    await send('POST', '/v1/pets', { headers: { 'content-type': 'application/json' }, body: ANIMAL })
    child.kill('SIGTERM')
    assert.equal((await ended).code, 0)
    const { out } = await run(t, ['data'], { cwd, program: ['ls'] })
    assert.equal(out, 'production.db\n')
  })

  test('under load no request fails, keep-alive or not', async t => {
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
          // As a load balancer does: once told to go, it comes back no more.
          if (headers.connection === 'close') return
        } catch (error) {
          failures.push(error)
        }
      }
    }
    const workers = Array.from({ length: 8 }, worker)
    while (answered.length < 200) await fetch(`${address}/livez`)
    child.kill('SIGTERM')
    await Promise.all(workers)
    stopped = true
    assert.equal((await ended).code, 0)
    assert.deepEqual(failures, [])
    assert.ok(answered.every(status => status === 200))
  })
})
