// Everything below and around the operations: paths, methods, Host, Expect, and requests that are hardly HTTP.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, test } from 'node:test'
import { onEveryDatabase } from './support/databases.ts'
import {
  API_KEY,
  parseRaw,
  sendRaw,
  startTestService as startSqliteService,
  temporaryFolder,
} from './support/service.ts'

const KEY = `authorization: Bearer ${API_KEY}`
const ANIMAL = '{"name":"Bella","categoryId":7}'

function lines(...parts: string[]): string {
  return `${parts.join('\r\n')}\r\n\r\n`
}

onEveryDatabase('paths', startTestService => {
  const unknown = [
    '/v1',
    '/v1/',
    '/v1/pets/',
    '/v1/pets/1/',
    '/v1/pets/1/2',
    '/v1/Pets',
    '/v1/PETS/1',
    '/v1//pets',
    '/v1/pet',
    '/v1/pets%2F1',
    '/v1/pets%',
    '/v1/p%zzets',
    '/v1/%ff',
    '/v1/pets/%zz',
    '/v1/pets/%',
    '/v1/pets/1%',
    '/v1/pets/%ff',
    '/v1/pets;limit=1',
    '/v1/pets#x',
    '/v1/store/orders',
    '/v1/store/order',
    '/v1/categories',
    '/v1/events',
    '/v1/openapi.json',
    '/v1/../v1/pets',
  ]
  for (const path of unknown) {
    test(`${path} is 404 with a key and 401 without`, async t => {
      const service = await startTestService(t)
      const [withKey, without] = await Promise.all(
        [KEY, 'x-none: 1'].map(async header =>
          parseRaw(
            await sendRaw(
              service.address,
              lines(`GET ${path} HTTP/1.1`, 'host: x', header, 'connection: close'),
            ),
            'GET',
            '/v1/x',
          ),
        ),
      )
      assert.equal(withKey?.status, 404)
      assert.equal(without?.status, 401)
    })
  }

  for (const path of [
    '/V1/pets',
    '/v2/pets',
    '/pets',
    '//v1/pets',
    '/v1%2Fpets',
    '/favicon.ico',
    '/docs/',
    '/%',
    '/x/../v1/pets',
    '/v11',
    '*',
  ]) {
    test(`${path} is outside /v1: 404, key or not`, async t => {
      const service = await startTestService(t)
      const answer = await sendRaw(
        service.address,
        lines(`${path === '*' ? 'OPTIONS' : 'GET'} ${path} HTTP/1.1`, 'host: x', 'connection: close'),
      )
      assert.equal(parseRaw(answer).status, 404)
    })
  }

  test('such a path is 404 for every method, and after the removal of getPet too', async t => {
    let now = new Date()
    const service = await startTestService(t, { clock: () => now.getTime() })
    for (const moment of [now, new Date('2031-01-01')]) {
      now = moment
      for (const path of ['/v1/pets/', '/v1/pets/%zz', '/v1/pets/1%', '/v1/pets/1/']) {
        for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND']) {
          const { status, headers } = await service.send(method, path)
          assert.equal(status, 404, `${method} ${path}`)
          assert.equal(headers.deprecation, undefined)
        }
      }
    }
  })

  test('the absolute form of a target is the same path', async t => {
    const service = await startTestService(t)
    for (const [target, status] of [
      ['http://example.test/v1/pets?limit=1', 200],
      ['HTTP://example.test:80/v1/pets', 200],
      ['http://example.test/v1/nothing', 404],
      ['http://example.test', 200],
    ] as const) {
      const answer = await sendRaw(
        service.address,
        lines(`GET ${target} HTTP/1.1`, 'host: example.test', KEY, 'connection: close'),
      )
      assert.equal(parseRaw(answer).status, status, target)
    }
  })
})

onEveryDatabase('methods', startTestService => {
  const rows: [string, string, string][] = [
    ...['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'PURGE'].map(
      (method): [string, string, string] => [method, '/v1/pets', 'GET, HEAD, POST'],
    ),
    ...['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'SEARCH'].map(
      (method): [string, string, string] => [method, '/v1/pets/1', 'GET, HEAD'],
    ),
    ...['/', '/docs', '/openapi.json', '/livez', '/readyz'].map((path): [string, string, string] => [
      'POST',
      path,
      'GET, HEAD',
    ]),
  ]
  for (const [method, path, allow] of rows) {
    test(`${method} ${path} is 405, allowing ${allow}`, async t => {
      const service = await startTestService(t)
      const reply = await service.send(method, path, {
        headers: { 'content-type': 'x' },
        ...(method !== 'TRACE' && { body: ANIMAL }),
      })
      assert.equal(reply.status, 405)
      assert.equal(reply.headers.allow, allow)
      assert.equal((reply.json as { code: string }).code, 'method_not_allowed')
    })
  }
})

onEveryDatabase('Host', startTestService => {
  const rows: [string, string[], number][] = [
    ['missing', [KEY], 400],
    ['missing, without a key', [], 400],
    ['doubled', ['host: a', 'host: b', KEY], 400],
    ['doubled, the same twice', ['host: a', 'Host: a', KEY], 400],
    ['there', ['host: a', KEY], 200],
  ]
  for (const [what, headers, status] of rows) {
    test(`${what}: ${status}`, async t => {
      const service = await startTestService(t)
      const answer = await sendRaw(
        service.address,
        lines('GET /v1/pets HTTP/1.1', ...headers, 'connection: close'),
      )
      assert.equal(parseRaw(answer, 'GET', '/v1/pets').status, status)
    })
  }
  test('HTTP/1.0 needs none', async t => {
    const service = await startTestService(t)
    assert.equal(
      parseRaw(await sendRaw(service.address, lines('GET /v1/pets HTTP/1.0', KEY)), 'GET', '/v1/pets').status,
      200,
    )
  })
})

onEveryDatabase('Expect', startTestService => {
  test('an expectation is judged after the credential and before the path', async t => {
    const service = await startTestService(t)
    const headers = { expect: 'a-miracle' }
    assert.equal((await service.send('GET', '/v1/nothing', { headers })).status, 417)
    assert.equal((await service.send('DELETE', '/v1/pets', { headers })).status, 417)
    const withoutKey = { headers: { ...headers, authorization: '' } }
    assert.equal((await service.send('GET', '/v1/nothing', withoutKey)).status, 401)
    const reply = await service.send('GET', '/v1/pets/1', { headers })
    assert.deepEqual([reply.status, reply.headers.deprecation], [417, '@1794700800'])
  })

  test('anything but 100-continue is 417', async t => {
    const service = await startTestService(t)
    for (const path of ['/v1/pets', '/livez']) {
      const reply = await service.send('GET', path, { headers: { expect: 'tea' } })
      assert.equal(reply.status, 417)
      assert.equal((reply.json as { code: string }).code, 'expectation_failed')
    }
  })
})

onEveryDatabase('requests that are hardly HTTP', startTestService => {
  const rows: [string, string, number, string][] = [
    ['no HTTP at all', 'hello\r\n\r\n', 400, 'invalid_request'],
    ['an unknown method', lines('FOO /v1/pets HTTP/1.1', 'host: x'), 400, 'invalid_request'],
    ['CONNECT', lines('CONNECT example.test:443 HTTP/1.1', 'host: example.test'), 400, 'invalid_request'],
    ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, 'invalid_request'],
    ['another version', lines('GET / HTTP/9.9', 'host: x'), 400, 'invalid_request'],
    ['a header without a colon', lines('GET / HTTP/1.1', 'host: x', 'nonsense'), 400, 'invalid_request'],
    [
      'a bad Content-Length',
      lines('POST /v1/pets HTTP/1.1', 'host: x', KEY, 'content-length: x'),
      400,
      'invalid_request',
    ],
    [
      'two Content-Lengths',
      lines('POST /v1/pets HTTP/1.1', 'host: x', KEY, 'content-length: 1', 'content-length: 2'),
      400,
      'invalid_request',
    ],
    [
      'Content-Length and Transfer-Encoding',
      lines('POST /v1/pets HTTP/1.1', 'host: x', KEY, 'content-length: 5', 'transfer-encoding: chunked'),
      400,
      'invalid_request',
    ],
    ['a space in the target', lines('GET /v1/ pets HTTP/1.1', 'host: x'), 400, 'invalid_request'],
    [
      'headers of 20 KiB',
      lines('GET /v1/pets HTTP/1.1', 'host: x', `x-large: ${'x'.repeat(20_000)}`),
      431,
      'headers_too_large',
    ],
    [
      'a target of 20 KiB',
      lines(`GET /v1/pets?${'x'.repeat(20_000)} HTTP/1.1`, 'host: x'),
      431,
      'headers_too_large',
    ],
    [
      'a broken chunk',
      `${lines('POST /v1/pets HTTP/1.1', 'host: x', KEY, 'content-type: application/json', 'transfer-encoding: chunked')}zz\r\n`,
      400,
      'invalid_request',
    ],
    [
      'chunk extensions of 20 KiB',
      `${lines('POST /v1/pets HTTP/1.1', 'host: x', KEY, 'content-type: application/json', 'transfer-encoding: chunked')}1;${'x'.repeat(20_000)}\r\n{`,
      413,
      'payload_too_large',
    ],
  ]
  for (const [what, bytes, status, code] of rows) {
    test(`${what}: ${status} with the error object, and the service goes on`, async t => {
      const service = await startTestService(t)
      const reply = parseRaw(await sendRaw(service.address, Buffer.from(bytes, 'latin1')))
      assert.equal(reply.status, status)
      assert.equal((reply.json as { code: string }).code, code)
      assert.equal(reply.headers.connection, 'close')
      assert.equal((await service.send('GET', '/v1/pets')).text, '[]')
      const logged = service.logs.filter(
        line => (line.msg === 'request' && line.route !== '/v1/pets') || line.method === 'POST',
      )
      assert.deepEqual(
        logged.map(line => [line.status, line.requestId]),
        [[BigInt(status), reply.headers['x-request-id']]],
      )
    })
  }

  test('a header after a thousand others counts like any other', async t => {
    const service = await startTestService(t)
    const others = Array.from({ length: 1_500 }, (_, index) => `x${index}:`)
    const last = ['content-type: application/json', `content-length: ${ANIMAL.length}`, 'connection: close']
    const head = lines('POST /v1/pets HTTP/1.1', 'host: x', KEY, ...others, ...last)
    assert.equal(parseRaw(await sendRaw(service.address, head + ANIMAL), 'POST', '/v1/pets').status, 201)
  })

  test('nothing waits for the rest of a refused request that has no more to send', async t => {
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

  test('a request that is followed by a broken one gets its answer first', async t => {
    const service = await startTestService(t)
    const post = `${lines('POST /v1/pets HTTP/1.1', 'host: x', KEY, 'content-type: application/json', `content-length: ${ANIMAL.length}`)}${ANIMAL}`
    const answer = await sendRaw(service.address, `${post}nonsense\r\n\r\n`)
    assert.equal(parseRaw(answer, 'POST', '/v1/pets').status, 201)
    const second = answer.slice(answer.indexOf('HTTP/1.1', 1))
    assert.equal(parseRaw(second).status, 400)
  })

  test('a request that waits, followed by one whose body breaks, gets its own answer first', async t => {
    const path = join(temporaryFolder(t), 'animals.db')
    const service = await startSqliteService(t, { database: { kind: 'sqlite', path } })
    const other = new DatabaseSync(path)
    t.after(() => other.close())
    other.exec('begin immediate')
    const post = `${lines('POST /v1/pets HTTP/1.1', 'host: x', KEY, 'content-type: application/json', `content-length: ${ANIMAL.length}`)}${ANIMAL}`
    const broken = `${lines('POST /v1/pets HTTP/1.1', 'host: x', KEY, 'content-type: application/json', 'transfer-encoding: chunked')}zz\r\n`
    const answer = sendRaw(service.address, post + broken)
    await service.send('GET', '/v1/pets')
    other.exec('rollback')
    assert.deepEqual((await answer).match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 201', 'HTTP/1.1 400'])
  })

  test('a client that goes on sending nonsense is answered once', async t => {
    const path = join(temporaryFolder(t), 'animals.db')
    const service = await startSqliteService(t, { database: { kind: 'sqlite', path } })
    const other = new DatabaseSync(path)
    t.after(() => other.close())
    other.exec('begin immediate')
    const warnings = t.mock.method(process, 'emitWarning')
    const { hostname, port } = new URL(service.address)
    const socket = connect(Number(port), hostname)
    let answer = ''
    socket.setEncoding('utf8').on('data', text => {
      answer += text
    })
    socket.write(
      `${lines('POST /v1/pets HTTP/1.1', 'host: x', KEY, 'content-type: application/json', `content-length: ${ANIMAL.length}`)}${ANIMAL}`,
    )
    for (let count = 0; count < 30; count++) {
      socket.write('nonsense\r\n\r\n')
      await service.send('GET', '/livez')
    }
    other.exec('rollback')
    await once(socket, 'close')
    assert.deepEqual(answer.match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 201', 'HTTP/1.1 400'])
    assert.equal(warnings.mock.callCount(), 0)
  })

  test('a request that was refused before its body broke is answered once', async t => {
    const service = await startTestService(t)
    const head = lines(
      'POST /v1/pets HTTP/1.1',
      'host: x',
      'content-type: application/json',
      'transfer-encoding: chunked',
    )
    const { hostname, port } = new URL(service.address)
    const socket = connect(Number(port), hostname)
    let answer = ''
    socket.setEncoding('utf8').on('data', text => {
      answer += text
    })
    socket.write(head)
    await once(socket, 'data')
    socket.write('zz\r\n')
    await once(socket, 'close')
    assert.deepEqual(answer.match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 401'])
    assert.equal(service.logs.filter(({ msg }) => msg === 'request').length, 1)
  })

  test('pipelined requests are answered in order', async t => {
    const service = await startTestService(t)
    const get = lines('GET /v1/pets?limit=1 HTTP/1.1', 'host: x', KEY)
    const last = lines('GET /v1/pets?limit=0 HTTP/1.1', 'host: x', KEY, 'connection: close')
    const answer = await sendRaw(service.address, get + get + last)
    assert.deepEqual(answer.match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 400'])
  })

  test('a client that leaves in the middle of its body does no harm', async t => {
    const service = await startTestService(t)
    const { hostname, port } = new URL(service.address)
    const socket = connect(Number(port), hostname)
    socket.write(
      `${lines('POST /v1/pets HTTP/1.1', 'host: x', KEY, 'content-type: application/json', 'expect: 100-continue', 'content-length: 100')}{"name"`,
    )
    await once(socket, 'data')
    socket.destroy()
    while (!service.logs.some(line => line.method === 'POST')) await service.send('GET', '/livez')
    assert.equal((await service.send('GET', '/v1/pets')).text, '[]')
    assert.ok(!service.logs.some(line => Number(line.level) >= 50), service.logText())
  })
})

suite('slow clients', { concurrency: true }, () => {
  const rows: [string, string][] = [
    ['says nothing', ''],
    ['never ends its request line', 'GET /v1/pe'],
    ['never ends its headers', 'GET /v1/pets HTTP/1.1\r\nhost: x\r\n'],
    [
      'never ends its body',
      `${lines('POST /v1/pets HTTP/1.1', 'host: x', KEY, 'content-type: application/json', 'content-length: 100')}{"name"`,
    ],
  ]
  for (const [what, bytes] of rows) {
    test(`one that ${what} is let go`, { timeout: 40_000 }, async t => {
      const service = await startSqliteService(t)
      const reply = parseRaw(await sendRaw(service.address, bytes))
      assert.equal(reply.status, 408)
      assert.equal((reply.json as { code: string }).code, 'request_timeout')
      const logged = service.logs.filter(line => line.msg === 'request')
      assert.deepEqual(
        logged.map(line => [line.status, line.requestId]),
        [[408n, reply.headers['x-request-id']]],
      )
    })
  }
})

onEveryDatabase('X-Request-Id', startTestService => {
  for (const id of ['a', 'x'.repeat(128), '8c0f1f0e-6d5b-4c7e-9d0e-1b2c3d4e5f60', 'a/b:c;d={e}']) {
    test(`${id.slice(0, 40)} is taken and given back`, async t => {
      const service = await startTestService(t)
      const reply = await service.send('GET', '/v1/pets', { headers: { 'x-request-id': id } })
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
    test(`${JSON.stringify(id.slice(0, 40))} is replaced`, async t => {
      const service = await startTestService(t)
      const reply = await service.send('GET', '/v1/pets', { headers: { 'x-request-id': id } })
      assert.match(String(reply.headers['x-request-id']), /^[0-9a-f]{16}-\d+$/)
    })
  }
})
