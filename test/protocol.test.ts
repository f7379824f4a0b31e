// HTTP below the operations: Host, Expect, X-Request-Id, malformed requests, pipelining and clients that disconnect.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { connectRaw, requestHead, statusesOf } from './support/raw-http.ts'
import {
  API_KEY,
  errorCode,
  parseRaw,
  sendRaw,
  shared,
  startTestService as startSqliteService,
  startTestService,
  temporaryFolder,
} from './support/service.ts'
import { lockForWriting } from './support/sqlite.ts'
import { waitUntil } from './support/wait.ts'

const KEY = `authorization: Bearer ${API_KEY}`
const ANIMAL = '{"name":"Bella","categoryId":7}'

function postHead(...headers: readonly string[]): string {
  return requestHead('POST /v1/pets HTTP/1.1', 'host: x', KEY, ...headers)
}

const JSON_TYPE = 'content-type: application/json'
const POST = postHead(JSON_TYPE, `content-length: ${ANIMAL.length}`) + ANIMAL
const CHUNKED_HEAD = postHead(JSON_TYPE, 'transfer-encoding: chunked')
const BROKEN_CHUNK = 'zz\r\n'
const NO_HTTP = 'nonsense\r\n\r\n'

suite('an absolute target', () => {
  const service = shared(startSqliteService)

  for (const [target, status] of [
    ['http://a/v1/pets', 200],
    ['HTTPS://a:443/v1/pets?limit=1', 200],
    ['http:///v1/pets', 400],
    ['http://:80/v1/pets', 400],
    ['http://?limit=1', 400],
    ['http://user@a/v1/pets', 400],
    ['http://user:password@a/v1/pets', 400],
    ['http://a:b/v1/pets', 400],
  ] as const) {
    test(`${target} is answered with ${status}`, async () => {
      const head = requestHead(`GET ${target} HTTP/1.1`, 'host: a', KEY, 'connection: close')
      const received = await sendRaw(service().address, head)
      assert.deepEqual(statusesOf(received), [status])
      if (status === 400) assert.equal(errorCode(parseRaw(received)), 'invalid_request')
    })
  }
})

suite('Host', () => {
  const service = shared(startTestService)

  const rows: [string, string[], number][] = [
    ['rejects a request without Host with 400', [KEY], 400],
    ['rejects a request without Host and without a key with 400', [], 400],
    ['rejects a second Host header with 400', ['host: a', 'host: b', KEY], 400],
    ['rejects a second Host header with the same value with 400', ['host: a', 'Host: a', KEY], 400],
    ['accepts one Host header', ['host: a', KEY], 200],
    ...[
      'x y',
      'a,b',
      'a, b',
      'a/b',
      'a?b',
      'u@a',
      'a:b',
      'a:1:2',
      '[::1',
      '[x]',
      '%zz',
      'caf\u00e9',
      '"a"',
    ].map((host): [string, string[], number] => [
      `rejects Host: ${host} with 400`,
      [`host: ${host}`, KEY],
      400,
    ]),
    ...[
      '',
      'a:80',
      'a:',
      '127.0.0.1:8080',
      '[::1]',
      '[::1]:8080',
      'a_b.example',
      'xn--caf-dma.example',
      '%41',
    ].map((host): [string, string[], number] => [`accepts Host: ${host}`, [`host: ${host}`, KEY], 200]),
  ]
  for (const [claim, headers, status] of rows) {
    test(claim, async () => {
      const head = requestHead('GET /v1/pets HTTP/1.1', ...headers, 'connection: close')
      const reply = parseRaw(await sendRaw(service().address, head), 'GET', '/v1/pets')
      assert.equal(reply.status, status)
    })
  }

  test('may be missing in HTTP/1.0', async () => {
    for (const path of ['/v1/pets', '/livez']) {
      const received = await sendRaw(service().address, requestHead(`GET ${path} HTTP/1.0`, KEY))
      assert.equal(parseRaw(received, 'GET', path).status, 200)
    }
  })
})

suite('Expect', () => {
  const service = shared(startTestService)

  test('is checked after the credential and before the path', async () => {
    const { send } = service()
    const headers = { expect: 'a-miracle' }
    assert.equal((await send('GET', '/v1/nothing', { headers })).status, 417)
    assert.equal((await send('DELETE', '/v1/pets', { headers })).status, 417)
    const withoutKey = { headers: { ...headers, authorization: '' } }
    assert.equal((await send('GET', '/v1/nothing', withoutKey)).status, 401)
    const reply = await send('GET', '/v1/pets/1', { headers })
    assert.deepEqual([reply.status, reply.headers.deprecation], [417, '@1794700800'])
  })

  test('is rejected with 417 unless it is 100-continue', async () => {
    for (const path of ['/v1/pets', '/livez']) {
      const reply = await service().send('GET', path, { headers: { expect: 'tea' } })
      assert.equal(reply.status, 417)
      assert.equal(errorCode(reply), 'expectation_failed')
    }
  })
})

suite('X-Request-Id', () => {
  const service = shared(startTestService)

  for (const id of ['a', 'x'.repeat(128), '8c0f1f0e-6d5b-4c7e-9d0e-1b2c3d4e5f60', 'a/b:c;d={e}']) {
    test(`${id.slice(0, 40)} is returned unchanged`, async () => {
      const reply = await service().send('GET', '/v1/pets', { headers: { 'x-request-id': id } })
      assert.equal(reply.headers['x-request-id'], id)
    })
  }

  for (const id of [
    '',
    'x'.repeat(129),
    'a b',
    'caf\u00e9',
    `as_live_${'x'.repeat(38)}`,
    API_KEY,
    `id-${API_KEY}`,
  ]) {
    test(`${JSON.stringify(id.slice(0, 40))} is replaced by a generated one`, async () => {
      const reply = await service().send('GET', '/v1/pets', { headers: { 'x-request-id': id } })
      assert.match(String(reply.headers['x-request-id']), /^[0-9a-f]{16}-\d+$/)
    })
  }
})

suite('malformed requests', () => {
  const service = shared(startTestService)

  const rows: [string, string, number, string][] = [
    ['text that is not HTTP', 'hello\r\n\r\n', 400, 'invalid_request'],
    ['an unknown method', requestHead('FOO /v1/pets HTTP/1.1', 'host: x'), 400, 'invalid_request'],
    [
      'CONNECT',
      requestHead('CONNECT example.test:443 HTTP/1.1', 'host: example.test'),
      400,
      'invalid_request',
    ],
    ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, 'invalid_request'],
    ['an unknown HTTP version', requestHead('GET / HTTP/9.9', 'host: x'), 400, 'invalid_request'],
    [
      'a header without a colon',
      requestHead('GET / HTTP/1.1', 'host: x', 'nonsense'),
      400,
      'invalid_request',
    ],
    ['an invalid Content-Length', postHead('content-length: x'), 400, 'invalid_request'],
    [
      'two Content-Length headers',
      postHead('content-length: 1', 'content-length: 2'),
      400,
      'invalid_request',
    ],
    [
      'Content-Length together with Transfer-Encoding',
      postHead('content-length: 5', 'transfer-encoding: chunked'),
      400,
      'invalid_request',
    ],
    ['a space in the target', requestHead('GET /v1/ pets HTTP/1.1', 'host: x'), 400, 'invalid_request'],
    [
      'headers of 20 KiB',
      requestHead('GET /v1/pets HTTP/1.1', 'host: x', `x-large: ${'x'.repeat(20_000)}`),
      431,
      'headers_too_large',
    ],
    [
      'a target of 20 KiB',
      requestHead(`GET /v1/pets?${'x'.repeat(20_000)} HTTP/1.1`, 'host: x'),
      431,
      'headers_too_large',
    ],
    ['a broken chunk', CHUNKED_HEAD + BROKEN_CHUNK, 400, 'invalid_request'],
    ['chunk extensions of 20 KiB', `${CHUNKED_HEAD}1;${'x'.repeat(20_000)}\r\n{`, 413, 'payload_too_large'],
  ]
  for (const [what, bytes, status, code] of rows) {
    test(`rejects ${what} with ${status}, logs it once and keeps serving`, async () => {
      const { address, send, logs: earlier } = service()
      const reply = parseRaw(await sendRaw(address, Buffer.from(bytes, 'latin1')))
      assert.equal(reply.status, status)
      assert.equal(errorCode(reply), code)
      assert.equal(reply.headers.connection, 'close')
      assert.equal((await send('GET', '/v1/pets')).text, '[]')
      const logged = service()
        .logs.slice(earlier.length)
        .filter(line => (line.msg === 'request' && line.route !== '/v1/pets') || line.method === 'POST')
      assert.deepEqual(
        logged.map(line => [line.status, line.requestId]),
        [[BigInt(status), reply.headers['x-request-id']]],
      )
    })
  }

  for (const [line, ...headers] of [
    ['GET /v1/pets', KEY],
    ['DELETE /v1/pets', KEY],
    ['GET /nothing', KEY],
    ['GET /v1/pets'],
    ['GET /livez'],
    ['HEAD /v1/pets', KEY],
  ] as const) {
    const credential = headers.length === 0 ? 'without a key' : 'with a key'
    test(`rejects a broken chunk in ${line} ${credential} with 400, although the body is not needed`, async () => {
      const { address, send } = service()
      await send('GET', '/v1/pets')
      const head = requestHead(`${line} HTTP/1.1`, 'host: x', ...headers, 'transfer-encoding: chunked')
      const received = await sendRaw(address, head + BROKEN_CHUNK)
      assert.equal(received.split('HTTP/1.1 ').length, 2)
      if (line.startsWith('HEAD')) assert.match(received, /^HTTP\/1\.1 400 .*\r\n\r\n$/s)
      else assert.equal(parseRaw(received).status, 400)
    })
  }
})

suite('connections', () => {
  test('reads a header after a thousand others', async t => {
    const service = await startTestService(t)
    const others = Array.from({ length: 1_500 }, (_, index) => `x${index}:`)
    const head = postHead(...others, JSON_TYPE, `content-length: ${ANIMAL.length}`, 'connection: close')
    assert.equal(parseRaw(await sendRaw(service.address, head + ANIMAL), 'POST', '/v1/pets').status, 201)
  })

  test('sets no timer for a rejected request that has arrived completely', async t => {
    const service = await startTestService(t)
    const timers = () => process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length
    await service.send('GET', '/nothing')
    const before = timers()
    for (const [method, path] of [
      ['GET', '/nothing'],
      ['DELETE', '/livez'],
      ['GET', '/v1/nothing'],
      ['GET', '/v1/pets?limit=0'],
      ['GET', '/v1/pets/0'],
    ] as const) {
      for (let count = 0; count < 10; count++) await service.send(method, path)
    }
    assert.ok(timers() - before < 10)
  })

  test('answers a request before it rejects the malformed one that follows', async t => {
    const service = await startTestService(t)
    const received = await sendRaw(service.address, POST + NO_HTTP)
    assert.equal(parseRaw(received, 'POST', '/v1/pets').status, 201)
    assert.equal(parseRaw(received.slice(received.indexOf('HTTP/1.1', 1))).status, 400)
  })

  test('answers a request only once if it was rejected before its body became malformed', async t => {
    const service = await startTestService(t)
    const { socket, closed } = connectRaw(service.address)
    socket.write(requestHead('POST /v1/pets HTTP/1.1', 'host: x', JSON_TYPE, 'transfer-encoding: chunked'))
    await once(socket, 'data')
    socket.write(BROKEN_CHUNK)
    assert.deepEqual(statusesOf(await closed), [401])
    assert.equal(service.logs.filter(({ msg }) => msg === 'request').length, 1)
  })

  test('answers pipelined requests in order', async t => {
    const service = await startTestService(t)
    const get = requestHead('GET /v1/pets?limit=1 HTTP/1.1', 'host: x', KEY)
    const last = requestHead('GET /v1/pets?limit=0 HTTP/1.1', 'host: x', KEY, 'connection: close')
    assert.deepEqual(statusesOf(await sendRaw(service.address, get + get + last)), [200, 200, 400])
  })

  test('stores nothing and logs no failure for a client that leaves in the middle of its body', async t => {
    const service = await startTestService(t)
    const { socket } = connectRaw(service.address)
    socket.write(`${postHead(JSON_TYPE, 'expect: 100-continue', 'content-length: 100')}{"name"`)
    await once(socket, 'data')
    socket.destroy()
    const isLogged = () => service.logs.some(line => line.method === 'POST')
    await waitUntil(isLogged, { what: 'the request is logged' })
    assert.equal((await service.send('GET', '/v1/pets')).text, '[]')
    assert.ok(!service.logs.some(line => Number(line.level) >= 50), service.logText())
  })
})

suite('connections with a request that waits for the database', () => {
  async function startLockedService(t: TestContext) {
    const path = join(temporaryFolder(t), 'animals.db')
    const service = await startSqliteService(t, { database: { kind: 'sqlite', path } })
    return { service, unlock: lockForWriting(t, path) }
  }

  test('answers the waiting request before it rejects the broken body that follows', async t => {
    const { service, unlock } = await startLockedService(t)
    const received = sendRaw(service.address, POST + CHUNKED_HEAD + BROKEN_CHUNK)
    await service.send('GET', '/v1/pets')
    unlock()
    assert.deepEqual(statusesOf(await received), [201, 400])
  })

  test('sends only one rejection to a client that keeps sending malformed requests', async t => {
    const { service, unlock } = await startLockedService(t)
    const warnings = t.mock.method(process, 'emitWarning')
    const { socket, closed } = connectRaw(service.address)
    socket.write(POST)
    for (let count = 0; count < 30; count++) {
      socket.write(NO_HTTP)
      await service.send('GET', '/livez')
    }
    unlock()
    assert.deepEqual(statusesOf(await closed), [201, 400])
    assert.equal(warnings.mock.callCount(), 0)
  })
})
