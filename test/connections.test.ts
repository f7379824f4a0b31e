// Connections of strangers: at the limit the longest idle one is closed, and responses that nobody reads are bounded.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { jsonReply, type Reply } from '../src/http/server/reply.ts'
import type { HttpServerOptions } from '../src/http/server/server.ts'
import { startTestServer } from './support/http-server.ts'
import { type RawConnection, requestHead, statusesOf } from './support/raw-http.ts'
import { waitUntil } from './support/wait.ts'

const GET = requestHead('GET /quick HTTP/1.1', 'host: x')
const MIB = 1024 * 1024

/** Far more than the operating system buffers for a client that does not read. */
const LARGE_BODY = JSON.stringify('x'.repeat(16 * MIB))
const HUGE_BODY = JSON.stringify('x'.repeat(64 * MIB))

async function startServer(t: TestContext, limits: NonNullable<HttpServerOptions['limits']>) {
  const gate = Promise.withResolvers<Reply>()
  const answers: Record<string, () => Reply | Promise<Reply>> = {
    '/quick': () => jsonReply(200, '{}'),
    '/slow': () => gate.promise,
    '/large': () => jsonReply(200, LARGE_BODY),
    '/huge': () => jsonReply(200, HUGE_BODY),
  }
  const seen: string[] = []
  function answer(path: string): Reply | Promise<Reply> {
    seen.push(path)
    return answers[path]?.() ?? jsonReply(404, '{}')
  }
  return { ...(await startTestServer(t, { answer, limits })), gate, seen }
}

/** Sends a request, and resolves once the connection has received another response. */
async function exchange(connection: RawConnection): Promise<void> {
  const before = statusesOf(connection.received()).length
  connection.socket.write(GET)
  await waitUntil(() => statusesOf(connection.received()).length > before, { what: 'it is answered' })
}

function isClosed({ socket }: RawConnection): boolean {
  return socket.closed
}

suite('at the limit of connections', () => {
  test('a new connection replaces the one that was answered least recently', async t => {
    const { open, openSeveral } = await startServer(t, { connections: 5 })
    const opened = await openSeveral(5)
    const [first, second] = opened as [RawConnection, RawConnection]
    await exchange(first)
    const sixth = await open()
    assert.equal(await second.closed, '')
    await exchange(sixth)
    assert.deepEqual(opened.map(isClosed), [false, true, false, false, false])
  })

  for (const [what, bytes] of [
    ['headers', 'GET /quick HTTP/1.1\r\nhost:'],
    ['body', `${requestHead('POST /slow HTTP/1.1', 'host: x', 'content-length: 5')}Be`],
  ] as const) {
    test(`a connection that is sending the ${what} of its first request counts as idle`, async t => {
      const { open, openSeveral } = await startServer(t, { connections: 3 })
      const [sending, ...others] = (await openSeveral(3)) as [RawConnection, RawConnection, RawConnection]
      sending.socket.write(bytes)
      for (const other of others) await exchange(other)
      await exchange(await open())
      await sending.closed
      assert.deepEqual(others.map(isClosed), [false, false])
    })
  }

  test('a connection that waits for its answer is kept', async t => {
    const { open, openSeveral, gate, seen } = await startServer(t, { connections: 3 })
    const [waiting, ...idle] = (await openSeveral(3)) as [RawConnection, RawConnection, RawConnection]
    waiting.socket.write(requestHead('GET /slow HTTP/1.1', 'host: x'))
    await waitUntil(() => seen.includes('/slow'), { what: 'the request arrives' })
    for (const other of idle) await exchange(other)
    await exchange(await open())
    await idle[0]?.closed
    gate.resolve(jsonReply(200, '"late"'))
    await waitUntil(() => waiting.received().endsWith('"late"'), { what: 'it is answered' })
  })

  test('a new connection is closed if all others are busy', async t => {
    const { open, openSeveral, gate, seen } = await startServer(t, { connections: 3 })
    const busy = await openSeveral(3)
    for (const { socket } of busy) socket.write(requestHead('GET /slow HTTP/1.1', 'host: x'))
    await waitUntil(() => seen.length === 3, { what: 'all requests arrive' })
    assert.equal(await (await open()).closed, '')
    gate.resolve(jsonReply(200, '"late"'))
    for (const connection of busy)
      await waitUntil(() => connection.received().endsWith('"late"'), { what: 'it is answered' })
  })

  test('only the first of many replacements is logged immediately', async t => {
    const { openSeveral, warnings } = await startServer(t, { connections: 2 })
    const opened = await openSeveral(20)
    await Promise.all(opened.slice(0, 18).map(({ closed }) => closed))
    assert.deepEqual(
      warnings().map(({ msg, closed }) => [msg, closed]),
      [['closed idle connections: there are too many connections', 1]],
    )
  })
})

suite('clients that do not read', () => {
  async function ask(connection: RawConnection, path: string): Promise<void> {
    connection.socket.pause()
    connection.socket.write(requestHead(`GET ${path} HTTP/1.1`, 'host: x'))
  }

  test('the one that has made no progress for the longest time is closed when too many bytes wait', async t => {
    const { openSeveral, seen, warnings } = await startServer(t, { waitingBytes: 40 * MIB })
    const [first, second, third] = (await openSeveral(3)) as [RawConnection, RawConnection, RawConnection]
    for (const [index, connection] of [first, second, third].entries()) {
      await ask(connection, '/large')
      await waitUntil(() => seen.length === index + 1, { what: 'the request arrives' })
    }
    await waitUntil(() => warnings().length === 1, { what: 'a connection is closed' })
    for (const { socket } of [first, second, third]) socket.resume()
    const [isFirstComplete, ...areOthersComplete] = await Promise.all(
      [first, second, third].map(async connection => {
        await waitUntil(() => connection.socket.closed || connection.received().length > LARGE_BODY.length, {
          what: 'it is closed or answered',
        })
        return connection.received().length > LARGE_BODY.length
      }),
    )
    assert.equal(isFirstComplete, false)
    assert.deepEqual(areOthersComplete, [true, true])
  })

  test('one that makes progress is kept, although it is the slowest', async t => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const { openSeveral, seen, warnings } = await startServer(t, { waitingBytes: 90 * MIB })
    const [reading, stuck, last] = (await openSeveral(3)) as [RawConnection, RawConnection, RawConnection]
    await ask(reading, '/huge')
    await waitUntil(() => seen.length === 1, { what: 'the first request arrives' })
    await ask(stuck, '/large')
    await waitUntil(() => seen.length === 2, { what: 'the second request arrives' })
    // The first check comes when the buffers of the operating system are full.
    for (const read of [8 * MIB, 16 * MIB]) {
      reading.socket.resume()
      await waitUntil(() => reading.received().length > read, { what: 'a part is read' })
      reading.socket.pause()
      t.mock.timers.tick(1_000)
    }
    await ask(last, '/large')
    await waitUntil(() => warnings().length === 1, { what: 'a connection is closed' })
    for (const [{ socket, received }, body] of [
      [reading, HUGE_BODY],
      [last, LARGE_BODY],
    ] as const) {
      socket.resume()
      await waitUntil(() => received().length > body.length, { what: 'the whole response is read' })
    }
    stuck.socket.resume()
    await stuck.closed.catch(() => {})
    assert.ok(stuck.received().length < LARGE_BODY.length)
  })

  test('a client that reads is kept, and bytes that it has read no longer count', async t => {
    const { open, warnings } = await startServer(t, { waitingBytes: 20 * MIB })
    const connection = await open()
    for (let round = 1; round <= 4; round++) {
      await ask(connection, '/large')
      connection.socket.resume()
      await waitUntil(() => connection.received().length > round * LARGE_BODY.length, {
        what: 'the whole response is read',
      })
    }
    assert.deepEqual(warnings(), [])
  })

  test('one that pipelines is closed when its own responses exceed the limit', async t => {
    const { open, warnings } = await startServer(t, { waitingBytes: 40 * MIB })
    const connection = await open()
    connection.socket.on('error', () => {}).pause()
    connection.socket.write(requestHead('GET /large HTTP/1.1', 'host: x').repeat(3))
    await waitUntil(() => warnings().length === 1, { what: 'the connection is closed' })
    assert.match(warnings()[0].msg, /do not read/)
  })
})

test('a request that was answered early is no longer in flight when its body has arrived', async t => {
  const { open, openSeveral } = await startTestServer(t, {
    limits: { requests: 3 },
    answer: () => jsonReply(200, '{}'),
  })
  for (const { socket, received } of await openSeveral(5)) {
    socket.write(requestHead('POST / HTTP/1.1', 'host: x', 'content-length: 5'))
    await waitUntil(() => received().endsWith('{}'), { what: 'it is answered before its body' })
    socket.write('Bella')
  }
  const last = requestHead('GET / HTTP/1.1', 'host: x', 'connection: close')
  async function pipelineTwo(): Promise<boolean> {
    const { socket, closed } = await open()
    socket.write(GET + last)
    return statusesOf(await closed).length === 2
  }
  await waitUntil(pipelineTwo, { what: 'two pipelined requests are answered' })
})
