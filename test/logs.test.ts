// The log: what each line contains, what it never contains, and how a terminal shows it.

import assert from 'node:assert/strict'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { pino } from 'pino'
import { renderAnimal } from '../src/animal.ts'
import { createLogOutput, formatForTerminal } from '../src/cli/service/log-stream.ts'
import { unavailable } from '../src/error.ts'
import { createOutageLog } from '../src/http/log.ts'
import { startTestServer } from './support/http-server.ts'
import { requestHead } from './support/raw-http.ts'
import { API_KEY, errorCode, sendRaw, startTestService, temporaryFolder } from './support/service.ts'
import { waitUntil } from './support/wait.ts'

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
    for (const logLevel of ['silent', 'warn'] as const) {
      const service = await startTestService(t, { logLevel })
      await service.send('GET', '/v1/pets')
      assert.equal(service.logText(), '')
    }
  })
})

suite('the log of outages', () => {
  type Step = [second: number, kind: 'creation' | 'read' | 'readiness', isFailed: boolean, logged: string]
  const BEGIN = 'the database is unavailable; further failures are only counted'
  const END = 'the database is available again'

  for (const [what, steps] of [
    [
      'an outage ends with a success that is two seconds after the last failure',
      [
        [0, 'read', true, BEGIN],
        [1, 'read', true, ''],
        [2, 'read', false, ''],
        [3.1, 'read', false, END],
        [4, 'read', false, ''],
      ],
    ],
    [
      'an outage ends two seconds after the last failure although nothing is requested any more',
      [
        [0, 'creation', true, BEGIN],
        [0.5, 'creation', false, ''],
        [1, 'creation', true, ''],
        [1.5, 'creation', false, ''],
        [2.9, 'read', false, ''],
        [3.1, 'read', false, END],
        [3.2, 'creation', true, BEGIN],
      ],
    ],
    [
      'a list that works does not end an outage of creations',
      [
        [0, 'creation', true, BEGIN],
        [5, 'read', false, ''],
        [6, 'creation', true, ''],
        [9, 'readiness', false, ''],
        [9, 'creation', false, END],
      ],
    ],
    [
      'a list that works does not end an outage that only readiness has noticed',
      [
        [0, 'readiness', true, BEGIN],
        [5, 'read', false, ''],
        [10, 'readiness', true, ''],
        [20, 'readiness', false, END],
      ],
    ],
    [
      'a failure that nobody repeats does not hide the next outage of another kind',
      [
        [0, 'readiness', true, BEGIN],
        [60, 'read', false, ''],
        [70, 'read', true, BEGIN],
        [71, 'creation', true, ''],
        [80, 'read', false, ''],
        [80, 'creation', false, END],
        [90, 'creation', true, BEGIN],
        [95, 'readiness', false, END],
        [95, 'creation', false, END],
      ],
    ],
    [
      'a creation that fails again long after lists have recovered begins another outage, and lists join it',
      [
        [0, 'creation', true, BEGIN],
        [0, 'read', true, ''],
        [3, 'read', false, ''],
        [21_600, 'creation', true, BEGIN],
        [21_601, 'read', true, ''],
        [21_605, 'read', false, ''],
        [21_605, 'creation', false, END],
      ],
    ],
    [
      'an outage of several kinds is one, and ends when all work again',
      [
        [0, 'creation', true, BEGIN],
        [0, 'read', true, ''],
        [3, 'creation', false, ''],
        [3, 'read', false, END],
      ],
    ],
  ] as [string, Step[]][]) {
    test(what, t => {
      t.mock.timers.enable({ apis: ['setTimeout'] })
      let seconds = 0
      const lines: string[] = []
      const log = pino({ base: null }, { write: line => void lines.push(JSON.parse(line).msg) })
      const outages = createOutageLog(log, () => seconds * 1_000)
      for (const [second, kind, isFailed, logged] of steps) {
        lines.length = 0
        t.mock.timers.tick((second - seconds) * 1_000)
        seconds = second
        if (isFailed) outages.failed(kind, 'id', unavailable(new Error('x')))
        else outages.succeeded(kind)
        t.mock.timers.tick(0)
        assert.equal(lines.join(), logged, `${kind} at ${second} s`)
      }
    })
  }
})

suite('requests whose client disconnects', () => {
  test('are logged once each, even if they are never answered', async t => {
    const lines: string[] = []
    const { open } = await startTestServer(t, {
      answer: () => new Promise(() => {}),
      writeLogLine: line => void lines.push(line),
    })
    const { socket } = await open()
    socket.write(requestHead('GET /a HTTP/1.1', 'host: x').repeat(10))
    await waitUntil(() => socket.writableLength === 0, { what: 'they are sent' })
    const second = await open()
    second.socket.write(requestHead('GET /b HTTP/1.1', 'host: x'))
    second.socket.end()
    await waitUntil(() => lines.length === 1, { what: 'the second connection is logged' })
    socket.destroy()
    await waitUntil(() => lines.length === 11, { what: 'all are logged' })
    for (const line of lines) assert.match(line, /"status":null,.*"aborted":true/)
  })
})

suite('log lines on a terminal', () => {
  const plain = (line: object) => stripVTControlCharacters(formatForTerminal(JSON.stringify(line)))
  const time = new Date(2027, 0, 1, 9, 5, 7).getTime()

  test('show a request, an unknown path that the client aborted, and a failure with its stack', () => {
    const request = { level: 30, time, method: 'GET', msg: 'request' }
    const err = { message: 'no', stack: 'Error: no\n    at there' }
    for (const [line, expected] of [
      [
        { ...request, requestId: 'r1', route: '/v1/pets', status: 200, durationMs: 1.5, keyId: 'k' },
        'info  GET /v1/pets 200 1.5 ms requestId=r1 keyId=k',
      ],
      [
        { ...request, route: null, status: null, durationMs: 2, aborted: true },
        'info  GET (unknown path) aborted 2 ms aborted=true',
      ],
      [{ level: 50, time, err, msg: 'internal_error' }, 'error internal_error\nError: no\n    at there'],
    ] as const)
      assert.equal(plain(line), `09:05:07 ${expected}`)
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
