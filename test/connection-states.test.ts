// What a connection is doing, and what changes it: one test for each row of the table in src/http/server/connections.ts.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import type { ConnectionState } from '../src/http/server/connections.ts'
import { jsonReply, type Reply } from '../src/http/server/reply.ts'
import type { HttpServerOptions } from '../src/http/server/server.ts'
import { startTestServer } from './support/http-server.ts'
import { requestHead, statusesOf } from './support/raw-http.ts'
import { waitUntil } from './support/wait.ts'

const SLOW = requestHead('GET /slow HTTP/1.1', 'host: x')

/** One connection to a server that answers when `finish` is called, and reads the body of `/body` first. */
async function connect(t: TestContext, limits: NonNullable<HttpServerOptions['limits']> = {}) {
  const gate = Promise.withResolvers<Reply>()
  const server = await startTestServer(t, {
    limits,
    async answer(path, { request }) {
      if (path === '/body') for await (const _ of request);
      return gate.promise
    },
  })
  const { socket, received, closed } = await server.open()
  return {
    socket,
    closed,
    open: server.open,
    finish: () => gate.resolve(jsonReply(200, '{}')),
    statuses: () => statusesOf(received()),
    async becomes(state: ConnectionState): Promise<void> {
      await waitUntil(() => server.states()[0] === state, { what: `it is ${state}` })
    },
    isGone: () => waitUntil(() => server.states().length === 0, { what: 'it is closed' }),
  }
}

suite('a connection', () => {
  test('is idle, receives a request, answers it, and is idle again', async t => {
    const { socket, becomes, finish, statuses } = await connect(t)
    await becomes('idle')
    socket.write(`${requestHead('POST /body HTTP/1.1', 'host: x', 'content-length: 4')}ab`)
    await becomes('receiving')
    socket.write('cd')
    await becomes('answering')
    finish()
    await becomes('idle')
    assert.deepEqual(statuses(), [200])
  })

  test('drains after a request with Upgrade, which is its last one', async t => {
    const { socket, becomes, finish, statuses, closed, isGone } = await connect(t)
    socket.write(requestHead('GET /slow HTTP/1.1', 'host: x', 'connection: upgrade', 'upgrade: h2c'))
    await becomes('draining')
    finish()
    await closed
    await isGone()
    assert.deepEqual(statuses(), [200])
  })

  test('drains after something that is not HTTP, and answers what came before', async t => {
    const { socket, becomes, finish, statuses, closed } = await connect(t)
    socket.write(SLOW)
    await becomes('answering')
    socket.write('\0\r\n')
    await becomes('draining')
    finish()
    await closed
    assert.deepEqual(statuses(), [200, 400])
  })

  test('drains after CONNECT, and answers what came before', async t => {
    const { socket, becomes, finish, statuses, closed } = await connect(t)
    socket.write(SLOW + requestHead('CONNECT x:1 HTTP/1.1', 'host: x'))
    await becomes('draining')
    finish()
    await closed
    assert.deepEqual(statuses(), [200, 400])
  })

  test('drains if too many requests are in flight', async t => {
    const { socket, becomes, finish, statuses, closed } = await connect(t, { requests: 2 })
    socket.write(SLOW.repeat(3))
    await becomes('draining')
    finish()
    await closed
    assert.deepEqual(statuses(), [200, 200])
  })

  test('is closed while it is idle or receives a request, if a new one needs its place', async t => {
    for (const bytes of ['', `${requestHead('POST /body HTTP/1.1', 'host: x', 'content-length: 4')}ab`]) {
      const { socket, closed, open, becomes } = await connect(t, { connections: 1 })
      if (bytes !== '') {
        socket.write(bytes)
        await becomes('receiving')
      }
      await open()
      assert.equal(await closed, '')
      await becomes('idle')
    }
  })

  test('is forgotten when the client closes it, whatever it is doing', async t => {
    for (const [bytes, state] of [
      ['', 'idle'],
      [SLOW, 'answering'],
    ] as const) {
      const { socket, becomes, isGone } = await connect(t)
      socket.write(bytes)
      await becomes(state)
      socket.destroy()
      await isGone()
    }
  })
})
