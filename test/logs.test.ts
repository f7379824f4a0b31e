// The log: what each line contains, what it never contains, and how a terminal shows it.

import assert from 'node:assert/strict'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { renderAnimal } from '../src/animal.ts'
import { createLogOutput, formatForTerminal } from '../src/cli/log-stream.ts'
import { API_KEY, errorCode, sendRaw, startTestService, temporaryFolder } from './support/service.ts'

suite('the log', () => {
  test('has one line per request, with method, route, status, duration, key id and request id', async t => {
    const service = await startTestService(t)
    const created = await service.create({ name: 'Bella', categoryId: 7 })
    await service.send('GET', '/v1/pets/1', { headers: { 'x-request-id': 'my-own-id' } })
    await service.send('GET', '/v1/pets?limit=5')
    await service.send('GET', '/v1/nothing/here', { headers: { authorization: '' } })
    await service.send('DELETE', '/v1/pets')
    const lines = service.logs.filter(line => line.msg === 'request')
    const seen = lines.map(({ method, route, status, keyId, animalId }) => ({
      method,
      route,
      status,
      keyId,
      animalId,
    }))
    const row = (
      method: string,
      route: string | null,
      status: bigint,
      keyId?: string,
      animalId?: bigint,
    ) => ({ method, route, status, keyId, animalId })
    assert.deepEqual(seen, [
      row('POST', '/v1/pets', 201n, 'environment', 1n),
      row('GET', '/v1/pets/{petId}', 200n, 'environment', 1n),
      row('GET', '/v1/pets', 200n, 'environment'),
      row('GET', null, 401n),
      row('DELETE', '/v1/pets', 405n, 'environment'),
    ])
    assert.equal(lines[0]?.requestId, created.headers['x-request-id'])
    assert.equal(lines[1]?.requestId, 'my-own-id')
    for (const { durationMs, time, level } of lines) {
      assert.ok(Number(durationMs) >= 0)
      assert.equal(typeof time, 'bigint')
      assert.equal(level, 30n)
    }
  })

  test('has the reason why the HTTP parser rejected a request', async t => {
    const service = await startTestService(t)
    await sendRaw(service.address, 'NO HTTP\r\n\r\n')
    const [line] = service.logs.filter(({ msg }) => msg === 'request')
    const { status, reason, address, method, route } = line ?? {}
    assert.deepEqual(
      { status, reason, address, method, route },
      {
        ...{ status: 400n, reason: 'HPE_INVALID_METHOD', address: '127.0.0.1' },
        ...{ method: undefined, route: undefined },
      },
    )
  })

  test('has the exact digits of large ids', async t => {
    const service = await startTestService(t)
    service.store.findAnimalAsJson = async id => renderAnimal({ id, name: 'x', categoryId: 1n })
    await service.send('GET', '/v1/pets/9007199254740993')
    assert.ok(service.logText().includes('"animalId":9007199254740993,'), service.logText())
  })

  test('never contains a key, a body, a query or an unknown path', async t => {
    const service = await startTestService(t, { logLevel: 'trace' })
    await service.create({ name: 'SECRET-NAME', categoryId: 1 }, { 'idempotency-key': 'SECRET-IDEMPOTENCY' })
    await service.create({ name: '' }, { 'idempotency-key': 'SECRET-IDEMPOTENCY' })
    await service.send('GET', '/v1/pets?api_key=SECRET-QUERY')
    await service.send('GET', '/v1/pets', { headers: { authorization: 'Bearer SECRET-BEARER' } })
    await service.send('GET', '/SECRET-PATH')
    await service.send('GET', '/v1/pets', { headers: { 'x-request-id': API_KEY } })
    await service.send('GET', '/v1/pets', { headers: { cookie: 'SECRET-COOKIE' } })
    assert.doesNotMatch(service.logText(), /SECRET/)
    assert.ok(!service.logText().includes(API_KEY))
  })

  test('contains every detail of a failure, while the response contains none', async t => {
    const service = await startTestService(t)
    service.store.listAnimalsAsJson = async () => {
      throw new Error('INTERNAL-DETAIL')
    }
    const reply = await service.send('GET', '/v1/pets')
    assert.equal(reply.status, 500)
    assert.equal(errorCode(reply), 'internal_error')
    assert.doesNotMatch(reply.text, /INTERNAL-DETAIL/)
    const [failure] = service.logs.filter(line => line.level === 50n)
    const { err, requestId } = failure as { err: { message: string; stack: string }; requestId: string }
    assert.match(err.message, /INTERNAL-DETAIL/)
    assert.match(err.stack, /logs\.test\.ts/)
    assert.equal(requestId, reply.headers['x-request-id'])
  })

  test('is empty at level silent, and has no requests at level warn', async t => {
    for (const logLevel of ['silent', 'warn']) {
      const service = await startTestService(t, { logLevel })
      await service.send('GET', '/v1/pets')
      assert.equal(service.logText(), '')
    }
  })
})

suite('log lines on a terminal', () => {
  const plain = (line: object) => stripVTControlCharacters(formatForTerminal(JSON.stringify(line)))
  const time = new Date(2027, 0, 1, 9, 5, 7).getTime()

  test('show a request', () => {
    const line = {
      ...{ level: 30, time, requestId: 'r1', method: 'GET', route: '/v1/pets', status: 200 },
      ...{ durationMs: 1.5, keyId: 'k', msg: 'request' },
    }
    assert.equal(plain(line), '09:05:07 info  GET /v1/pets 200 1.5 ms requestId=r1 keyId=k')
  })

  test('show a request to an unknown path that the client aborted', () => {
    const line = {
      ...{ level: 30, time, method: 'GET', route: null, status: null },
      ...{ durationMs: 2, aborted: true, msg: 'request' },
    }
    assert.equal(plain(line), '09:05:07 info  GET (unknown path) aborted 2 ms aborted=true')
  })

  test('show a failure with its stack', () => {
    const line = {
      level: 50,
      time,
      err: { message: 'no', stack: 'Error: no\n    at there' },
      msg: 'internal_error',
    }
    assert.equal(plain(line), '09:05:07 error internal_error\nError: no\n    at there')
  })

  test('show the exact digits of large ids', () => {
    const line =
      '{"level":30,"time":0,"method":"GET","route":"/v1/pets/{petId}","status":200,"durationMs":1,"animalId":9007199254740993,"msg":"request"}'
    assert.match(stripVTControlCharacters(formatForTerminal(line)), /animalId=9007199254740993/)
  })

  test('are written to a terminal only, and JSON to everything else', async t => {
    const path = join(temporaryFolder(t), 'log')
    const fd = openSync(path, 'a')
    t.after(() => closeSync(fd))
    const terminal = createLogOutput({ fd, isTTY: true })
    terminal.write(`${JSON.stringify({ level: 40, time, msg: 'careful' })}\n`)
    await terminal.flush()
    const file = createLogOutput({ fd })
    file.write('{"level":30,"msg":"request"}\n')
    file.write('{"level":30,"msg":"request"}\n')
    await file.flush()
    const [first = '', ...others] = readFileSync(path, 'utf8').split('\n')
    assert.equal(stripVTControlCharacters(first), '09:05:07 warn  careful')
    assert.deepEqual(others, ['{"level":30,"msg":"request"}', '{"level":30,"msg":"request"}', ''])
  })
})
