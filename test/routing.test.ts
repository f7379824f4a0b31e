// Paths and methods: which are served, and how the others are rejected.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { requestHead } from './support/raw-http.ts'
import { API_KEY, parseRaw, sendRaw, shared, startTestService } from './support/service.ts'

const KEY = `authorization: Bearer ${API_KEY}`
const ALLOWED: Readonly<Record<string, string>> = {
  '/v1/pets': 'GET, HEAD, POST',
  '/v1/pets/1': 'GET, HEAD, PATCH, DELETE',
}
const ANIMAL = '{"name":"Bella","categoryId":7}'

suite('paths', () => {
  const service = shared(startTestService)

  const unknown = [
    ...['/v1', '/v1/', '/v1/pets/', '/v1/pets/1/', '/v1/pets/1/2', '/v1/Pets', '/v1/PETS/1', '/v1//pets'],
    ...['/v1/pet', '/v1/pets%2F1', '/v1/pets%', '/v1/%ff', '/v1/pets/%zz', '/v1/pets/1%', '/v1/pets;limit=1'],
    ...['/v1/pets#x', '/v1/store/orders', '/v1/categories', '/v1/events', '/v1/openapi.json'],
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

  const outside = ['/V1/pets', '/v2/pets', '/pets', '//v1/pets', '/v1%2Fpets', '/docs/', '/%', '/v11', '*']
  for (const path of outside) {
    test(`answers ${path}, which is outside /v1, with 404 without a key`, async () => {
      const method = path === '*' ? 'OPTIONS' : 'GET'
      const head = requestHead(`${method} ${path} HTTP/1.1`, 'host: x', 'connection: close')
      assert.equal(parseRaw(await sendRaw(service().address, head)).status, 404)
    })
  }

  test('answers an unknown path with 404 for every method, without the headers of getPet', async () => {
    for (const path of ['/v1/pets/', '/v1/pets/%zz', '/v1/pets/1/']) {
      for (const method of ['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND']) {
        const { status, headers } = await service().send(method, path)
        assert.deepEqual([status, headers.deprecation], [404, undefined], `${method} ${path}`)
      }
    }
  })
})

suite('methods', () => {
  const service = shared(startTestService)

  const rows = [
    ...['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'].map(method => [method, '/v1/pets']),
    ...['POST', 'PUT', 'OPTIONS', 'TRACE'].map(method => [method, '/v1/pets/1']),
    ...['/', '/docs', '/openapi.json', '/livez', '/readyz'].map(path => ['POST', path]),
  ] as [method: string, path: string][]
  for (const [method, path] of rows) {
    const allow = ALLOWED[path] ?? 'GET, HEAD'
    test(`rejects ${method} ${path} with 405 and Allow: ${allow}`, async () => {
      const reply = await service().send(method, path, {
        headers: { 'content-type': 'x' },
        ...(method !== 'TRACE' && { body: ANIMAL }),
      })
      assert.equal(reply.status, 405)
      assert.equal(reply.headers.allow, allow)
    })
  }
})
