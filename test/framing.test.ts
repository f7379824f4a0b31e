// Where a request ends, and which one is the last of its connection: Upgrade, CONNECT and Transfer-Encoding.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { connectRaw, requestHead, statusesOf } from './support/raw-http.ts'
import {
  API_KEY,
  errorCode,
  parseRaw,
  sendRaw,
  shared,
  startTestService,
  type TestService,
  temporaryFolder,
} from './support/service.ts'
import { lockForWriting } from './support/sqlite.ts'

const KEY = `authorization: Bearer ${API_KEY}`
const ANIMAL = '{"name":"Bella","categoryId":7}'
const LENGTH = `content-length: ${ANIMAL.length}`
const CHUNKED_ANIMAL = `${ANIMAL.length.toString(16)}\r\n${ANIMAL}\r\n0\r\n\r\n`

function get(...headers: readonly string[]): string {
  return requestHead('GET /v1/pets HTTP/1.1', 'host: x', KEY, ...headers)
}

function postHead(...headers: readonly string[]): string {
  return requestHead('POST /v1/pets HTTP/1.1', 'host: x', KEY, 'content-type: application/json', ...headers)
}

const POST = postHead(LENGTH) + ANIMAL
const CONNECT = requestHead('CONNECT example.test:443 HTTP/1.1', 'host: example.test')

async function count(service: TestService): Promise<number> {
  return ((await service.send('GET', '/v1/pets?limit=100')).json as unknown[]).length
}

/** A service whose creations wait until `unlock` is called. */
async function startLockedService(t: TestContext) {
  const path = join(temporaryFolder(), 'animals.db')
  const service = await startTestService(t, { database: { kind: 'sqlite', path } })
  return { service, unlock: lockForWriting(t, path) }
}

suite('a request with Upgrade', () => {
  const service = shared(startTestService)
  const websocket = ['connection: Upgrade', 'upgrade: websocket']

  for (const [what, request, statuses] of [
    ['GET', get(...websocket), [200]],
    ['GET with an empty Upgrade', get('upgrade:'), [200]],
    ['GET without a key', get(...websocket).replace(KEY, 'x: y'), [401]],
    ['POST', postHead(...websocket, LENGTH) + ANIMAL, [201]],
    ['POST with chunks', postHead(...websocket, 'transfer-encoding: chunked') + CHUNKED_ANIMAL, [201]],
    ['POST to h2c', postHead('connection: Upgrade, HTTP2-Settings', 'upgrade: h2c', LENGTH) + ANIMAL, [201]],
    ['GET after a POST', POST + get(...websocket), [201, 200]],
  ] as const) {
    for (const [following, next] of [
      ['a request', POST],
      ['another protocol', '\x81\x05hello'],
    ] as const) {
      test(`is answered, and ${following} in the same segment is not: ${what}`, async () => {
        const before = await count(service())
        const received = await sendRaw(service().address, Buffer.from(request + next, 'latin1'))
        assert.deepEqual(statusesOf(received), statuses)
        assert.match(received, /\r\nconnection: close\r\n/i)
        assert.equal((await count(service())) - before, statuses.filter(status => status === 201).length)
      })
    }
  }

  test('is answered after an earlier one, and nothing that follows is treated as a request', async t => {
    const { service, unlock } = await startLockedService(t)
    const { socket, closed } = connectRaw(service.address)
    const logged = () => service.logs.filter(({ msg }) => msg === 'request')
    socket.write(POST + get(...websocket) + POST)
    for (const segment of [POST, postHead(...websocket, LENGTH), ANIMAL, 'nonsense\r\n\r\n', POST]) {
      socket.write(segment)
      // The answer shows that the service has read the segment.
      await service.send('GET', '/livez')
    }
    unlock()
    assert.deepEqual(statusesOf(await closed), [201, 200])
    assert.equal(await count(service), 1)
    const methods = logged().map(({ method, route }) => (route === '/livez' ? 'livez' : method))
    assert.deepEqual(methods.filter(method => method !== 'livez').slice(0, 2), ['POST', 'GET'])
    assert.equal(methods.filter(method => method === 'POST').length, 1)
  })
})

test('a body in tiny chunks is accepted like any other, and so is what follows', async t => {
  const service = await startTestService(t)
  const chunks = [...ANIMAL.padEnd(60_000)].map(byte => `1\r\n${byte}\r\n`).join('')
  const post = `${postHead('transfer-encoding: chunked') + chunks}0\r\n\r\n`
  const received = await sendRaw(service.address, post + post + get('connection: close'))
  assert.deepEqual(statusesOf(received), [201, 201, 200])
  assert.equal(await count(service), 2)
})

suite('CONNECT', () => {
  test('is rejected after the requests before it were answered, however long they take', async t => {
    const { service, unlock } = await startLockedService(t)
    const { socket, closed } = connectRaw(service.address)
    socket.write(POST + POST + CONNECT)
    await service.send('GET', '/livez')
    socket.write(POST)
    await service.send('GET', '/livez')
    unlock()
    const received = await closed
    assert.deepEqual(statusesOf(received), [201, 201, 400])
    assert.equal(errorCode(parseRaw(received.slice(received.lastIndexOf('HTTP/1.1')))), 'invalid_request')
    assert.equal(await count(service), 2)
  })
})

suite('Transfer-Encoding and the version of HTTP', () => {
  const service = shared(startTestService)
  const keepAlive = 'connection: keep-alive'

  for (const [what, bytes] of [
    ['HTTP/0.9', get(keepAlive).replace(' HTTP/1.1', '')],
    ['HTTP/2.0', get(keepAlive).replace('HTTP/1.1', 'HTTP/2.0')],
    ['another coding before chunked', postHead('transfer-encoding: gzip, chunked') + CHUNKED_ANIMAL],
    [
      'another coding before chunked, in two headers',
      postHead('transfer-encoding: gzip', 'transfer-encoding: chunked') + CHUNKED_ANIMAL,
    ],
    ['chunked twice', postHead('transfer-encoding: chunked, chunked') + CHUNKED_ANIMAL],
    ['chunked before another coding', postHead('transfer-encoding: chunked, gzip') + CHUNKED_ANIMAL],
    ['identity', postHead('transfer-encoding: identity', LENGTH) + ANIMAL],
    ['an empty value', postHead('transfer-encoding:') + CHUNKED_ANIMAL],
    ['an unknown coding on GET', `${get('transfer-encoding: x, chunked')}0\r\n\r\n`],
    [
      'chunked in HTTP/1.0',
      (postHead('transfer-encoding: chunked', keepAlive) + CHUNKED_ANIMAL).replace('HTTP/1.1', 'HTTP/1.0'),
    ],
  ] as const) {
    test(`are rejected, and the connection is closed: ${what}`, async () => {
      const received = await sendRaw(service().address, bytes + POST)
      assert.deepEqual(statusesOf(received), [400])
      assert.equal(parseRaw(received).headers.connection?.toLowerCase(), 'close')
      assert.equal(await count(service()), 0)
    })
  }

  test('are checked before the credential', async () => {
    const bytes = postHead('transfer-encoding: gzip, chunked').replace(KEY, 'x: y') + CHUNKED_ANIMAL
    assert.deepEqual(statusesOf(await sendRaw(service().address, bytes)), [400])
  })
})

suite('Transfer-Encoding', () => {
  const service = shared(startTestService)

  for (const value of ['chunked', 'Chunked', '\tCHUNKED ']) {
    test(`is accepted as ${JSON.stringify(value)}`, async () => {
      const bytes = postHead(`transfer-encoding:${value}`, 'connection: close') + CHUNKED_ANIMAL
      assert.deepEqual(statusesOf(await sendRaw(service().address, bytes)), [201])
    })
  }
})
