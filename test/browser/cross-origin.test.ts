// Pages of other origins, which may use the service if its settings allow them.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite, type TestContext, test } from 'node:test'
import { createScriptLoader } from '../../src/web/scripts.ts'
import { API_KEY, startTestService } from '../support/service.ts'
import { useBrowser } from './browser.ts'

const APP = 'https://app.example'
const newContext = useBrowser()

function preflight(origin: string): { headers: Record<string, string> } {
  return {
    headers: { authorization: '', origin, 'access-control-request-method': 'POST' },
  }
}

suite('pages of other origins', () => {
  test('are not allowed by default', async t => {
    const service = await startTestService(t)
    const reply = await service.send('GET', '/v1/pets', { headers: { origin: APP } })
    assert.deepEqual(
      Object.keys(reply.headers).filter(name => /^access-control|^vary/.test(name)),
      [],
    )
    assert.equal((await service.send('OPTIONS', '/v1/pets', preflight(APP))).status, 401)
  })

  test('are allowed by origin: a preflight needs no key, on any path of the API', async t => {
    const service = await startTestService(t, { corsOrigins: [APP, 'http://localhost:3000'] })
    for (const path of ['/v1/pets', '/v1/pets/1', '/v1/nothing']) {
      const { status, headers, text } = await service.send('OPTIONS', path, preflight(APP))
      assert.deepEqual([status, text], [204, ''])
      assert.equal(headers['content-length'], undefined)
      assert.equal(headers['access-control-allow-origin'], APP)
      assert.equal(headers['access-control-allow-methods'], 'GET, HEAD, POST, PATCH, DELETE')
      for (const name of ['Authorization', 'Content-Type', 'Idempotency-Key'])
        assert.ok(String(headers['access-control-allow-headers']).includes(name))
      assert.equal(headers.vary, 'Origin')
    }
    for (const origin of [
      'https://evil.example',
      'https://app.example.evil.example',
      'null',
      APP.toUpperCase(),
    ]) {
      const { status, headers } = await service.send('OPTIONS', '/v1/pets', preflight(origin))
      assert.deepEqual(
        [status, headers['access-control-allow-origin'], headers.vary],
        [401, undefined, 'Origin'],
      )
    }
    const plain = await service.send('OPTIONS', '/v1/pets', { headers: { origin: APP } })
    assert.equal(plain.status, 405)
    assert.equal((await service.send('OPTIONS', '/docs', preflight(APP))).status, 405)
  })

  test('may read every response and its headers, errors included', async t => {
    const service = await startTestService(t, { corsOrigins: [APP] })
    const requests: [string, string, number][] = [
      ['GET', '/v1/pets', 200],
      ['GET', '/v1/pets?limit=0', 400],
      ['GET', '/v1/pets/1', 404],
      ['GET', '/v1/nothing', 404],
      ['POST', '/v1/pets', 400],
    ]
    for (const [method, path, expected] of requests) {
      const { status, headers } = await service.send(method, path, { headers: { origin: APP } })
      assert.equal(status, expected)
      assert.equal(headers['access-control-allow-origin'], APP)
      assert.equal(
        headers['access-control-expose-headers'],
        'ETag, Link, Location, Deprecation, Sunset, Retry-After, X-Request-Id, Idempotent-Replayed, RateLimit-Policy, RateLimit',
      )
      assert.equal(headers['access-control-allow-credentials'], undefined)
    }
    const withoutKey = await service.send('GET', '/v1/pets', { headers: { authorization: '', origin: APP } })
    assert.deepEqual([withoutKey.status, withoutKey.headers['access-control-allow-origin']], [401, APP])
    const deprecated = await service.send('GET', '/v1/pets/1', { headers: { origin: APP } })
    assert.ok(deprecated.headers.deprecation)
  })

  test('are all allowed by *, without Vary', async t => {
    const service = await startTestService(t, { corsOrigins: ['*'] })
    const { headers } = await service.send('GET', '/v1/pets', { headers: { origin: 'null' } })
    assert.deepEqual([headers['access-control-allow-origin'], headers.vary], ['*', undefined])
    assert.equal((await service.send('OPTIONS', '/v1/pets', preflight('null'))).status, 204)
  })
})

/** Starts another site, which serves the client but no API. */
async function startSite(t: TestContext): Promise<string> {
  const client = await createScriptLoader(['client/src/animal-store'])('client/src/animal-store')
  const server = createServer((request, response) => {
    const isClient = request.url === '/client.js'
    response.setHeader('content-type', isClient ? 'text/javascript' : 'text/html')
    response.end(isClient ? client : '<!doctype html><title>Elsewhere</title>')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  t.after(() => server.closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

suite('a page of another origin, in a browser', () => {
  test('can use the client if its origin is allowed, and only then', async t => {
    const site = await startSite(t)
    const allowing = await startTestService(t, { corsOrigins: [site] })
    const rejecting = await startTestService(t)
    const page = await (await newContext(t)).newPage()
    await page.goto(site)
    const callApi = (address: string) =>
      page.evaluate(
        async ({ address, apiKey }) => {
          const { AnimalStore } = await import(`${location.origin}/client.js`)
          const deprecations: string[] = []
          const store = new AnimalStore({
            baseUrl: `${address}/v1`,
            apiKey,
            retries: 0,
            onDeprecation: ({ operation }: { operation: string }) => deprecations.push(operation),
          })
          try {
            for (const name of ['Bella', 'Kim', 'Rex']) await store.createAnimal({ name, categoryId: 7n })
            const { next } = await store.listAnimals({ limit: 2 })
            const { name } = await store.getAnimal(3n)
            const error = await store.listAnimals({ limit: 0 }).catch((error: unknown) => error)
            return [String(next.after), name, deprecations.join(), error.code, typeof error.requestId]
          } catch (error) {
            return [(error as { code: string }).code]
          }
        },
        { address, apiKey: API_KEY },
      )
    assert.deepEqual(await callApi(allowing.address), ['2', 'Rex', 'getAnimal', 'invalid_request', 'string'])
    assert.deepEqual(await callApi(rejecting.address), ['network_error'])
    assert.deepEqual(await rejecting.store.listAnimals({ limit: 10 }), [])
  })
})
