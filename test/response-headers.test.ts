// The headers that every response has: Cache-Control and X-Content-Type-Options.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { requestHead } from './support/raw-http.ts'
import { parseRaw, sendRaw, shared, startTestService } from './support/service.ts'

const ORIGIN = 'https://app.example'

suite('Cache-Control and X-Content-Type-Options', () => {
  const service = shared(scope => startTestService(scope, { corsOrigins: [ORIGIN] }))

  const preflight = { origin: ORIGIN, 'access-control-request-method': 'POST' }
  const rows: [string, string, number, Record<string, string>?][] = [
    ['GET', '/v1/pets', 200],
    ['HEAD', '/v1/pets', 200],
    ['GET', '/v1/pets?limit=0', 400],
    ['GET', '/v1/pets', 401, { authorization: '' }],
    ['GET', '/v1/pets/1', 404],
    ['GET', '/v1/nothing', 404],
    ['GET', '/nothing', 404],
    ['DELETE', '/v1/pets', 405],
    ['POST', '/docs', 405],
    ['GET', '/v1/pets', 417, { expect: 'tea' }],
    ['OPTIONS', '/v1/pets', 204, preflight],
    ['GET', '/livez', 200],
    ['GET', '/readyz', 200],
  ]
  for (const [method, path, status, headers = {}] of rows) {
    test(`are no-store and nosniff on ${method} ${path} with ${status}`, async () => {
      const reply = await service().send(method, path, { headers })
      assert.equal(reply.status, status)
      assert.equal(reply.headers['cache-control'], 'no-store')
      assert.equal(reply.headers['x-content-type-options'], 'nosniff')
    })
  }

  test('are no-store and nosniff on 201 and 415', async () => {
    for (const type of ['application/json', 'text/plain']) {
      const reply = await service().create({ name: 'Bella', categoryId: 7 }, { 'content-type': type })
      assert.equal(reply.status, type === 'text/plain' ? 415 : 201)
      assert.equal(reply.headers['cache-control'], 'no-store')
      assert.equal(reply.headers['x-content-type-options'], 'nosniff')
    }
  })

  for (const [what, bytes, status] of [
    ['text that is not HTTP', 'nonsense\r\n\r\n', 400],
    ['CONNECT', requestHead('CONNECT x:1 HTTP/1.1', 'host: x'), 400],
    ['headers that are too large', requestHead('GET / HTTP/1.1', `x: ${'x'.repeat(20_000)}`), 431],
  ] as const) {
    test(`are no-store and nosniff on the answer to ${what}`, async () => {
      const reply = parseRaw(await sendRaw(service().address, bytes))
      assert.equal(reply.status, status)
      assert.equal(reply.headers['cache-control'], 'no-store')
      assert.equal(reply.headers['x-content-type-options'], 'nosniff')
    })
  }

  for (const path of ['/', '/docs', '/openapi.json']) {
    test(`are no-cache and nosniff on ${path}`, async () => {
      const { headers } = await service().send('GET', path)
      assert.equal(headers['cache-control'], 'no-cache')
      assert.equal(headers['x-content-type-options'], 'nosniff')
    })
  }
})
