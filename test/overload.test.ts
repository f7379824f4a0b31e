// Overload: pipelined requests and requests that wait for the database are bounded, and those beyond the limit get 503.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { suite, type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { batchWrites } from '../src/database/batching.ts'
import { openSqliteStore } from '../src/database/sqlite/sqlite-store.ts'
import { createApp } from '../src/http/app.ts'
import { createOutageLog } from '../src/http/outage-log.ts'
import { jsonReply } from '../src/http/server/reply.ts'
import type { Store } from '../src/store.ts'
import { startTestServer } from './support/http-server.ts'
import { connectRaw, requestHead, statusesOf } from './support/raw-http.ts'
import { API_KEY, client } from './support/service.ts'
import { waitUntil } from './support/wait.ts'

test('beyond the limit, a connection closes after the pipelined requests that were accepted', async t => {
  const gate = Promise.withResolvers<void>()
  const paths: string[] = []
  const { open, warnings } = await startTestServer(t, {
    limits: { requests: 20 },
    async answer(path) {
      paths.push(path)
      await gate.promise
      return jsonReply(200, '{}')
    },
  })
  const request = (path: string) => requestHead(`GET ${path} HTTP/1.1`, 'host: x')
  const [pipelining, other] = [await open(), await open()]
  pipelining.socket.write(Array.from({ length: 2_000 }, (_, index) => request(`/${index}`)).join(''))
  await waitUntil(() => warnings().length === 1, { what: 'the limit is reached' })
  other.socket.write(request('/other'))
  await waitUntil(() => paths.length === 21, { what: 'all accepted requests are served' })
  gate.resolve()
  assert.deepEqual(statusesOf(await pipelining.closed), Array(20).fill(200))
  assert.deepEqual(
    new Set(paths),
    new Set(['/other', ...Array.from({ length: 20 }, (_, index) => `/${index}`)]),
  )
  assert.equal(warnings()[0].msg, 'closed connections that pipeline too many requests')
  // The other connection was not closed.
  other.socket.write(request('/next'))
  await waitUntil(() => statusesOf(other.received()).length === 2, { what: 'the other one is served' })
})

suite('requests that wait for the database', () => {
  async function startApp(t: TestContext) {
    const gate = Promise.withResolvers<void>()
    const stored = openSqliteStore({ path: ':memory:', clock: Date.now, create: true })
    let calls = 0
    const blocked =
      <Args extends readonly unknown[], Result>(method: (...args: Args) => Promise<Result>) =>
      async (...args: Args) => {
        calls++
        await gate.promise
        return method(...args)
      }
    const blockedStore: Store = {
      ...stored,
      listAnimalsAsJson: blocked(stored.listAnimalsAsJson),
      write: blocked(stored.write),
    }
    const store = batchWrites(blockedStore, { limits: { size: 1, queueLength: 2 } })
    const log = pino({ level: 'silent' })
    const { server } = createApp({
      store,
      outages: createOutageLog(log, stored.ping),
      checkReadiness: stored.ping,
      clock: Date.now,
      environment: 'production',
      basePath: '/v1',
      extraKey: API_KEY,
      corsOrigins: [],
      log,
      documents: [],
      isAccepting: () => true,
      isQueueFull: () => store.writesWaiting() >= 2,
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { send, close } = client(address)
    t.after(async () => {
      close()
      server.close()
      await stored.close()
    })
    const headers = { 'content-type': 'application/json' }
    return {
      address,
      send,
      create: () => send('POST', '/v1/pets', { headers, body: '{"name":"Bella","categoryId":7}' }),
      list: () => send('GET', '/v1/pets'),
      waitForQueue: (length: number) =>
        waitUntil(() => store.writesWaiting() === length, { what: 'the creations are in the queue' }),
      release: gate.resolve,
      waitForCalls: (count: number) => waitUntil(() => calls === count, { what: 'the requests wait' }),
    }
  }

  test('are refused beyond the limit with 503 and Retry-After, and admitted again later', async t => {
    const { address, send, create, list, release, waitForCalls, waitForQueue } = await startApp(t)
    const creations = [create(), create(), create()]
    await waitForCalls(1)
    await waitForQueue(2)
    const refused = await create()
    assert.equal(refused.status, 503)
    assert.equal(refused.headers['retry-after'], '1')
    // The body is not read.
    const withoutBody = connectRaw(address)
    withoutBody.socket.write(
      requestHead(
        'POST /v1/pets HTTP/1.1',
        'host: x',
        `authorization: Bearer ${API_KEY}`,
        'content-length: 9',
      ),
    )
    await waitUntil(() => withoutBody.received().startsWith('HTTP/1.1 503 '), { what: 'it is refused' })
    withoutBody.socket.destroy()
    // A read does not wait behind creations.
    const page = list()
    await waitForCalls(2)
    // The credential is checked first, and health checks are never refused.
    assert.equal((await send('GET', '/v1/pets', { headers: { authorization: '' } })).status, 401)
    assert.equal((await send('GET', '/livez')).status, 200)
    release()
    for (const creation of creations) assert.equal((await creation).status, 201)
    assert.equal((await page).status, 200)
    assert.equal((await create()).status, 201)
  })
})
