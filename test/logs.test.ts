// The log: what each line contains, what it never contains, and how a terminal shows it.

import assert from 'node:assert/strict'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { pino } from 'pino'
import { renderAnimal } from '../src/animal-json.ts'
import { createLogOutput, formatForTerminal } from '../src/cli/service/log-stream.ts'
import { unavailable } from '../src/error.ts'
import { createOutageLog } from '../src/http/outage-log.ts'
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
  type What = 'read fails' | 'write fails' | 'write stores' | 'database works' | 'time passes'
  type Step = [second: number, what: What, logged: string]
  const BEGIN = 'the database is unavailable; further failures are only counted'
  const END = 'the database is available again'

  for (const [what, steps] of [
    [
      'an outage ends by itself when the database works, two seconds after the last failure',
      [
        [0, 'read fails', BEGIN],
        [3, 'read fails', ''],
        [4, 'database works', ''],
        [5, 'time passes', END],
        [7, 'read fails', BEGIN],
      ],
    ],
    [
      'an outage goes on while the database does not answer, although nothing is requested',
      [
        [0, 'read fails', BEGIN],
        [60, 'time passes', ''],
        [61, 'database works', ''],
        [62, 'time passes', END],
      ],
    ],
    [
      'an outage in which writes failed ends only after a write has stored something',
      [
        [0, 'database works', ''],
        [1, 'write fails', BEGIN],
        [2, 'read fails', ''],
        [3_600, 'time passes', ''],
        [3_601, 'write stores', ''],
        [3_602, 'time passes', END],
      ],
    ],
    [
      'a write that fails after another one has stored something keeps the outage open',
      [
        [0, 'database works', ''],
        [1, 'write fails', BEGIN],
        [2, 'write stores', ''],
        [2, 'write fails', ''],
        [60, 'time passes', ''],
        [61, 'write stores', ''],
        [62, 'time passes', END],
        [63, 'write stores', ''],
      ],
    ],
    [
      'what stores something outside an outage says nothing',
      [
        [0, 'write stores', ''],
        [9, 'time passes', ''],
      ],
    ],
  ] as [string, Step[]][]) {
    test(what, async t => {
      t.mock.timers.enable({ apis: ['setTimeout'] })
      let seconds = 0
      let isWorking = false
      const lines: { msg: string; failedRequests?: number; durationMs?: number }[] = []
      const log = pino({ base: null }, { write: line => void lines.push(JSON.parse(line)) })
      const checkDatabase = async () => {
        if (!isWorking) throw unavailable({ cause: new Error('x') })
      }
      const outages = createOutageLog(log, checkDatabase, () => seconds * 1_000)
      const happen: Record<What, () => void> = {
        'read fails': () => outages.failed(unavailable({ cause: new Error('x') }), { requestId: 'id' }),
        'write fails': () =>
          outages.failed(unavailable({ cause: new Error('x') }), { requestId: 'id', isWrite: true }),
        'write stores': () => outages.stored(),
        'database works': () => {
          isWorking = true
        },
        'time passes': () => {},
      }
      let [failures, startedAt] = [0, 0]
      for (const [second, event, logged] of steps) {
        lines.length = 0
        while (seconds < second) {
          seconds++
          t.mock.timers.tick(1_000)
          // The check of the database is a promise.
          await nextTurn()
        }
        happen[event]()
        if (logged === BEGIN) [failures, startedAt] = [0, second]
        if (event.endsWith('fails')) failures++
        assert.equal(lines.map(({ msg }) => msg).join(), logged, `${event} at ${second} s`)
        if (logged !== END) continue
        assert.deepEqual(
          [lines[0]?.failedRequests, lines[0]?.durationMs],
          [failures, (second - startedAt) * 1_000],
        )
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
    const path = join(temporaryFolder(), 'log')
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
