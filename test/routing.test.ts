// Paths and methods: which are served, and how the others are rejected.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { requestHead } from './support/raw-http.ts'
import { API_KEY, errorCode, parseRaw, sendRaw, shared, startTestService } from './support/service.ts'

const KEY = `authorization: Bearer ${API_KEY}`
const ANIMAL = '{"name":"Bella","categoryId":7}'

suite('paths', () => {
  const service = shared(startTestService)

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
    test(`answers GET ${path} with 404, and with 401 without a key`, async () => {
      const [withKey, without] = await Promise.all(
        [KEY, 'x-none: 1'].map(async header => {
          const head = requestHead(`GET ${path} HTTP/1.1`, 'host: x', header, 'connection: close')
          return parseRaw(await sendRaw(service().address, head), 'GET', '/v1/x')
        }),
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
    test(`answers ${path}, which is outside /v1, with 404 without a key`, async () => {
      const method = path === '*' ? 'OPTIONS' : 'GET'
      const head = requestHead(`${method} ${path} HTTP/1.1`, 'host: x', 'connection: close')
      assert.equal(parseRaw(await sendRaw(service().address, head)).status, 404)
    })
  }

  test('answers an unknown path with 404 for every method, before and after the removal of getPet', async t => {
    let now = new Date()
    const { send } = await startTestService(t, { clock: () => now.getTime() })
    for (const moment of [now, new Date('2031-01-01')]) {
      now = moment
      for (const path of ['/v1/pets/', '/v1/pets/%zz', '/v1/pets/1%', '/v1/pets/1/']) {
        for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND']) {
          const { status, headers } = await send(method, path)
          assert.equal(status, 404, `${method} ${path}`)
          assert.equal(headers.deprecation, undefined)
        }
      }
    }
  })

  test('treats a target in absolute form like its path', async () => {
    for (const [target, path, status] of [
      ['http://example.test/v1/pets?limit=1', '/v1/pets?limit=1', 200],
      ['HTTP://example.test:80/v1/pets', '/v1/pets', 200],
      ['http://example.test/v1/nothing', '/v1/nothing', 404],
      ['http://example.test', '/', 200],
    ] as const) {
      const head = requestHead(`GET ${target} HTTP/1.1`, 'host: example.test', KEY, 'connection: close')
      const reply = parseRaw(await sendRaw(service().address, head), 'GET', path)
      assert.equal(reply.status, status, target)
    }
  })
})

suite('methods', () => {
  const service = shared(startTestService)

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
    test(`rejects ${method} ${path} with 405 and Allow: ${allow}`, async () => {
      const reply = await service().send(method, path, {
        headers: { 'content-type': 'x' },
        ...(method !== 'TRACE' && { body: ANIMAL }),
      })
      assert.equal(reply.status, 405)
      assert.equal(reply.headers.allow, allow)
      assert.equal(errorCode(reply), 'method_not_allowed')
    })
  }
})
