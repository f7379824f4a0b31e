// Clients that never finish their request: the server answers 408 and closes the connection.

import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite, test } from 'node:test'
import { requestHead } from './support/raw-http.ts'
import { API_KEY, parseRaw, sendRaw, startTestService, type TestService } from './support/service.ts'

/** Finds the HTTP server of a service through the diagnostics channel on which Node announces each request. */
async function serverOf(service: TestService): Promise<Server> {
  const { port } = new URL(service.address)
  let server: Server | undefined
  const onRequest = (message: unknown) => {
    const announced = (message as { server: Server }).server
    if (String((announced.address() as AddressInfo).port) === port) server = announced
  }
  subscribe('http.server.request.start', onRequest)
  try {
    await service.send('GET', '/livez')
  } finally {
    unsubscribe('http.server.request.start', onRequest)
  }
  assert.ok(server)
  return server
}

suite('slow clients', () => {
  test('have 10 seconds for the headers, 20 seconds for the whole request', async t => {
    const { headersTimeout, requestTimeout } = await serverOf(await startTestService(t))
    assert.deepEqual({ headersTimeout, requestTimeout }, { headersTimeout: 10_000, requestTimeout: 20_000 })
  })

  const [key, type] = [`authorization: Bearer ${API_KEY}`, 'content-type: application/json']
  const post = requestHead('POST /v1/pets HTTP/1.1', 'host: x', key, type, 'content-length: 100')
  for (const [what, bytes] of [
    ['sends nothing', ''],
    ['never ends its headers', 'GET /v1/pets HTTP/1.1\r\nhost: x\r\n'],
    ['never ends its body', `${post}{"name"`],
  ] as const) {
    test(`get 408 after the time-out: one that ${what}`, async t => {
      const service = await startTestService(t)
      // Node swaps the two time-outs if the one for the headers is longer.
      Object.assign(await serverOf(service), { headersTimeout: 200, requestTimeout: 300 })
      const previous = service.logs.length
      const reply = parseRaw(await sendRaw(service.address, bytes))
      assert.equal(reply.status, 408)
      const logged = service.logs.slice(previous).filter(line => line.msg === 'request')
      assert.deepEqual(
        logged.map(line => [line.status, line.requestId]),
        [[408n, reply.headers['x-request-id']]],
      )
    })
  }
})
