// Connections: at the limit the longest idle one is closed, after some requests no further one is served, and little is read of a
// body after an early answer.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { jsonReply, type Reply } from '../src/http/server/reply.ts'
import type { HttpServerOptions } from '../src/http/server/server.ts'
import { startTestServer } from './support/http-server.ts'
import { type RawConnection, requestHead, statusesOf } from './support/raw-http.ts'
import { waitUntil } from './support/wait.ts'

const GET = requestHead('GET /quick HTTP/1.1', 'host: x')

/** More than the operating system buffers on both sides. */
const LARGE_BYTES = 32 * 1024 * 1024

async function startServer(t: TestContext, limits: NonNullable<HttpServerOptions['limits']>) {
  const gate = Promise.withResolvers<Reply>()
  const answers: Record<string, () => Reply | Promise<Reply>> = {
    '/quick': () => jsonReply(200, '{}'),
    '/large': () => jsonReply(200, '1'.repeat(LARGE_BYTES)),
    '/slow': () => gate.promise,
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

  test('a new connection replaces one whose client does not read', async t => {
    const { open, openSeveral, gate, seen } = await startServer(t, { connections: 3 })
    const [waiting, unread, other] = (await openSeveral(3)) as [RawConnection, RawConnection, RawConnection]
    for (const { socket } of [waiting, other]) socket.write(requestHead('GET /slow HTTP/1.1', 'host: x'))
    unread.socket.pause().write(requestHead('GET /large HTTP/1.1', 'host: x'))
    await waitUntil(() => seen.length === 3, { what: 'all requests arrive' })
    await exchange(await open())
    unread.socket.resume()
    assert.ok((await unread.closed.catch(() => '')).length < LARGE_BYTES)
    gate.resolve(jsonReply(200, '"late"'))
    for (const connection of [waiting, other])
      await waitUntil(() => connection.received().endsWith('"late"'), { what: 'it is answered' })
  })

  test('only the first of many replacements is logged immediately', async t => {
    const { openSeveral, warnings } = await startServer(t, { connections: 2 })
    const opened = await openSeveral(20)
    await Promise.all(opened.slice(0, 18).map(({ closed }) => closed))
    assert.deepEqual(
      warnings().map(({ msg, closed }) => [msg, closed]),
      [['closed connections that waited for their clients: there are too many', 1]],
    )
  })
})

suite('no further request is served, and earlier ones are answered', () => {
  const slow = requestHead('GET /slow HTTP/1.1', 'host: x')
  for (const { what, before = '', bytes, statuses } of [
    {
      what: 'a request with Upgrade',
      bytes: requestHead('GET /slow HTTP/1.1', 'host: x', 'connection: upgrade', 'upgrade: h2c') + GET,
      statuses: [200],
    },
    { what: 'something that is not HTTP', before: slow, bytes: `\0\r\n${GET}`, statuses: [200, 400] },
    {
      what: 'CONNECT',
      before: slow,
      bytes: requestHead('CONNECT x:1 HTTP/1.1', 'host: x') + GET,
      statuses: [200, 400],
    },
    { what: 'too many requests in flight', bytes: slow.repeat(3), statuses: [200, 200] },
  ]) {
    test(`after ${what}`, async t => {
      const { open, gate, seen } = await startServer(t, { requests: 2 })
      const { socket, closed } = await open()
      socket.write(before + bytes)
      await waitUntil(() => seen.length > 0, { what: 'a request arrives' })
      gate.resolve(jsonReply(200, '{}'))
      assert.deepEqual(statusesOf(await closed), statuses)
    })
  }
})

test('a connection is forgotten when the client closes it, whatever it is doing', async t => {
  for (const bytes of ['', requestHead('GET /slow HTTP/1.1', 'host: x')]) {
    const { open, connectionCount, seen } = await startServer(t, {})
    const { socket } = await open()
    assert.equal(connectionCount(), 1)
    socket.write(bytes)
    await waitUntil(() => bytes === '' || seen.length > 0, { what: 'the request arrives' })
    socket.destroy()
    await waitUntil(() => connectionCount() === 0, { what: 'it is forgotten' })
  }
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

test('after an early answer, little more of the body is read before the connection is closed', async t => {
  const read: (() => number)[] = []
  const { open } = await startTestServer(t, {
    answer(_path, { request: { socket } }) {
      read.push(() => socket.bytesRead)
      return jsonReply(413, '{}')
    },
  })
  const head = requestHead('POST / HTTP/1.1', 'host: x', `content-length: ${LARGE_BYTES}`)
  const { socket, received, closed } = await open()
  socket.on('error', () => {}).write(head)
  await waitUntil(() => received().endsWith('{}'), { what: 'it is answered' })
  socket.write(Buffer.alloc(LARGE_BYTES))
  await closed.catch(() => {})
  const [bytesRead = () => 0] = read
  // What had been read at once when the limit was reached counts, too.
  assert.ok(bytesRead() > 256 * 1024 && bytesRead() < 512 * 1024, `${bytesRead()} bytes`)
})

test('a client that sends nothing more after an early answer is disconnected', async t => {
  const { open } = await startTestServer(t, { answer: () => jsonReply(413, '{}') })
  const { socket, closed } = await open()
  socket.write(requestHead('POST / HTTP/1.1', 'host: x', 'content-length: 5'))
  assert.deepEqual(statusesOf(await closed), [413])
})
