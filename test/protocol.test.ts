// HTTP below the operations: Host, Expect, X-Request-Id, malformed requests and clients that disconnect.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { connectRaw, requestHead, statusesOf } from './support/raw-http.ts'
import {
  API_KEY,
  parseRaw,
  sendRaw,
  shared,
  startTestService,
  type TestService,
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
  const service = shared(startTestService)

  for (const [target, path, status] of [
    ['http://a/v1/pets', '/v1/pets', 200],
    ['HTTPS://a:443/v1/pets?limit=1', '/v1/pets', 200],
    ['http://a/v1/nothing', '/v1/nothing', 404],
    ['http://a', '/', 200],
    ['http:///v1/pets', '/v1/pets', 400],
    ['http://:80/v1/pets', '/v1/pets', 400],
    ['http://user:password@a/v1/pets', '/v1/pets', 400],
    ['http://a:b/v1/pets', '/v1/pets', 400],
  ] as const) {
    test(`${target} is answered with ${status}`, async () => {
      const head = requestHead(`GET ${target} HTTP/1.1`, 'host: a', KEY, 'connection: close')
      const reply = parseRaw(await sendRaw(service().address, head), 'GET', path)
      assert.equal(reply.status, status)
    })
  }
})

suite('Host', () => {
  const service = shared(startTestService)

  const invalid = ['x y', 'a,b', 'a/b', 'u@a', 'a:b', 'a:1:2', '[::1', '%zz', 'caf\u00e9', '"a"']
  const valid = ['', 'a', 'a:80', '127.0.0.1:8080', '[::1]:8080', 'a_b.example', 'xn--caf-dma.example', '%41']
  const rows: [what: string, headers: string[], status: number][] = [
    ['none', [KEY], 400],
    ['none, without a key', [], 400],
    ['two', ['host: a', 'host: b', KEY], 400],
    ['two that are equal', ['host: a', 'Host: a', KEY], 400],
    ...invalid.map((host): [string, string[], number] => [host, [`host: ${host}`, KEY], 400]),
    ...valid.map((host): [string, string[], number] => [host, [`host: ${host}`, KEY], 200]),
  ]
  for (const [what, headers, status] of rows) {
    test(`is answered with ${status}: ${what}`, async () => {
      const head = requestHead('GET /v1/pets HTTP/1.1', ...headers, 'connection: close')
      const reply = parseRaw(await sendRaw(service().address, head), 'GET', '/v1/pets')
      assert.equal(reply.status, status)
    })
  }

  test('may be missing in HTTP/1.0', async () => {
    const received = await sendRaw(service().address, requestHead('GET /v1/pets HTTP/1.0', KEY))
    assert.equal(parseRaw(received, 'GET', '/v1/pets').status, 200)
  })
})

test('Expect is rejected unless it is 100-continue, after the credential and before the path', async t => {
  const { send } = await startTestService(t)
  for (const [method, path, status, authorization] of [
    ['GET', '/v1/nothing', 417],
    ['DELETE', '/v1/pets', 417],
    ['GET', '/livez', 417],
    ['GET', '/v1/nothing', 401, ''],
  ] as const) {
    const headers = { expect: 'a-miracle', ...(authorization === '' && { authorization }) }
    assert.equal((await send(method, path, { headers })).status, status)
  }
  const { status, headers } = await send('GET', '/v1/pets/1', { headers: { expect: 'tea' } })
  assert.deepEqual([status, headers.deprecation], [417, '@1794700800'])
})

suite('X-Request-Id', () => {
  const service = shared(startTestService)
  const generated = /^[0-9a-f]{16}-\d+$/

  for (const id of ['a', 'x'.repeat(128), 'a/b:c;d={e}']) {
    test(`${id.slice(0, 40)} is returned unchanged`, async () => {
      const reply = await service().send('GET', '/v1/pets', { headers: { 'x-request-id': id } })
      assert.equal(reply.headers['x-request-id'], id)
    })
  }
  for (const id of ['', 'x'.repeat(129), 'a b', 'caf\u00e9', `as_live_${'x'.repeat(38)}`, `id-${API_KEY}`]) {
    test(`${JSON.stringify(id.slice(0, 40))} is replaced by a generated one`, async () => {
      const reply = await service().send('GET', '/v1/pets', { headers: { 'x-request-id': id } })
      assert.match(String(reply.headers['x-request-id']), generated)
    })
  }
})

suite('malformed requests', () => {
  const service = shared(startTestService)

  const get = (...headers: string[]) => requestHead('GET /v1/pets HTTP/1.1', 'host: x', ...headers)
  const rows: [what: string, bytes: string, status: number][] = [
    ['text that is not HTTP', NO_HTTP, 400],
    ['an unknown method', get().replace('GET', 'FOO'), 400],
    ['CONNECT', requestHead('CONNECT example.test:443 HTTP/1.1', 'host: example.test'), 400],
    ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['an unknown HTTP version', get().replace('1.1', '9.9'), 400],
    ['a header without a colon', get('nonsense'), 400],
    ['an invalid Content-Length', postHead('content-length: x'), 400],
    ['two Content-Length headers', postHead('content-length: 1', 'content-length: 2'), 400],
    ['two ways to frame a body', postHead('content-length: 5', 'transfer-encoding: chunked'), 400],
    ['a space in the target', get().replace('pets', ' pets'), 400],
    ['headers of 20 KiB', get(`x-large: ${'x'.repeat(20_000)}`), 431],
    ['a target of 20 KiB', get().replace('pets', `pets?${'x'.repeat(20_000)}`), 431],
    ['a broken chunk', CHUNKED_HEAD + BROKEN_CHUNK, 400],
    ['chunk extensions of 20 KiB', `${CHUNKED_HEAD}1;${'x'.repeat(20_000)}\r\n{`, 413],
  ]
  for (const [what, bytes, status] of rows) {
    test(`rejects ${what} with ${status}, logs it once and keeps serving`, async () => {
      const { address, send, logs: earlier } = service()
      const reply = parseRaw(await sendRaw(address, Buffer.from(bytes, 'latin1')))
      assert.equal(reply.status, status)
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

  for (const line of ['GET /v1/pets', 'DELETE /v1/pets', 'GET /nothing', 'GET /livez', 'HEAD /v1/pets']) {
    test(`rejects a broken chunk in ${line} with 400, although the body is not needed`, async () => {
      const head = requestHead(`${line} HTTP/1.1`, 'host: x', KEY, 'transfer-encoding: chunked')
      const received = await sendRaw(service().address, head + BROKEN_CHUNK)
      assert.equal(received.split('HTTP/1.1 ').length, 2)
      if (line.startsWith('HEAD')) assert.match(received, /^HTTP\/1\.1 400 .*\r\n\r\n$/s)
      else assert.equal(parseRaw(received).status, 400)
    })
  }
})

function requestsIn({ logs }: TestService): number {
  return logs.filter(({ msg }) => msg === 'request').length
}

suite('connections', () => {
  const service = shared(startTestService)

  test('reads a header after a thousand others', async () => {
    const others = Array.from({ length: 1_500 }, (_, index) => `x${index}:`)
    const head = postHead(...others, JSON_TYPE, `content-length: ${ANIMAL.length}`, 'connection: close')
    assert.equal(parseRaw(await sendRaw(service().address, head + ANIMAL), 'POST', '/v1/pets').status, 201)
  })

  test('answers a request before it rejects the malformed one that follows', async () => {
    const received = await sendRaw(service().address, POST + NO_HTTP)
    assert.equal(parseRaw(received, 'POST', '/v1/pets').status, 201)
    assert.equal(parseRaw(received.slice(received.indexOf('HTTP/1.1', 1))).status, 400)
  })

  test('answers a request only once if it was rejected before its body became malformed', async () => {
    const before = requestsIn(service())
    const { socket, closed } = connectRaw(service().address)
    socket.write(requestHead('POST /v1/pets HTTP/1.1', 'host: x', JSON_TYPE, 'transfer-encoding: chunked'))
    await once(socket, 'data')
    socket.write(BROKEN_CHUNK)
    assert.deepEqual(statusesOf(await closed), [401])
    assert.equal(requestsIn(service()), before + 1)
  })

  test('stores nothing and logs no failure for a client that leaves in the middle of its body', async t => {
    const own = await startTestService(t)
    const { socket } = connectRaw(own.address)
    socket.write(`${postHead(JSON_TYPE, 'expect: 100-continue', 'content-length: 100')}{"name"`)
    await once(socket, 'data')
    socket.destroy()
    const isLogged = () => own.logs.some(line => line.method === 'POST')
    await waitUntil(isLogged, { what: 'the request is logged' })
    assert.equal((await own.send('GET', '/v1/pets')).text, '[]')
    assert.ok(!own.logs.some(line => Number(line.level) >= 50), own.logText())
  })
})

suite('connections with a request that waits for the database', () => {
  async function startLockedService(t: TestContext) {
    const path = join(temporaryFolder(), 'animals.db')
    const service = await startTestService(t, { database: { kind: 'sqlite', path } })
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
