// What the service uses of Node.js although it is not documented. If one of these tests fails with a new version of Node.js, look
// at src/http/server/node-internals.ts.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { suite, type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { pauseAfterParsing, skipRequests, unsentBytes } from '../src/http/server/node-internals.ts'
import { connectRaw } from './support/raw-http.ts'
import { waitUntil } from './support/wait.ts'

async function addressOf(t: TestContext, server: ReturnType<typeof createTcpServer>): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}

suite('undocumented parts of Node.js', () => {
  test('requests behind the last one are skipped, and the parser works for the next connection', async t => {
    let requests = 0
    const server = createServer((request, response) => {
      requests++
      skipRequests(request.socket)
      response.end()
    })
    const address = await addressOf(t, server)
    const first = connectRaw(address)
    first.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(1_000))
    await waitUntil(() => first.received().includes('200'), { what: 'the first request is answered' })
    first.socket.destroy()
    // Node uses the parser again once it has closed the connection.
    const isClosed = () =>
      new Promise<boolean>(resolve => server.getConnections((_, open) => resolve(open === 0)))
    await waitUntil(isClosed, { what: 'the connection is closed' })
    assert.equal(requests, 1)
    const second = connectRaw(address)
    t.after(() => second.socket.destroy())
    second.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await waitUntil(() => second.received().includes('200'), { what: 'the next connection is answered' })
    assert.equal(requests, 2)
  })

  test('a request without a body is complete, and a pause lasts, once the parser has read what has arrived', async t => {
    const seen: unknown[] = []
    const server = createServer(async (request, response) => {
      const { socket } = request
      if (request.url === '/early') socket.pause()
      else pauseAfterParsing(socket)
      const isCompleteAtOnce = request.complete
      await undefined
      const isComplete = request.complete
      await nextTurn()
      seen.push([request.url, isCompleteAtOnce, isComplete, socket.isPaused()])
      response.end()
    })
    const address = await addressOf(t, server)
    for (const path of ['/early', '/late']) {
      const { socket } = connectRaw(address)
      t.after(() => socket.destroy())
      const expected = seen.length + 1
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
      await waitUntil(() => seen.length === expected, { what: `${path} is served` })
    }
    assert.deepEqual(seen, [
      ['/early', false, true, false],
      ['/late', false, true, true],
    ])
  })

  test('the progress of a write shows before all of it is accepted', async t => {
    const server = createTcpServer()
    const address = await addressOf(t, server)
    const reader = connectRaw(address).socket.pause()
    t.after(() => reader.destroy())
    const [socket] = (await once(server, 'connection')) as [Socket]
    t.after(() => socket.destroy())
    socket.on('error', () => {}).write(Buffer.alloc(64 * 1024 * 1024))
    const before = unsentBytes(socket)
    assert.ok(before > 0 && before <= socket.writableLength)
    reader.resume()
    await waitUntil(() => unsentBytes(socket) < before, { what: 'some of it is accepted' })
    assert.equal(socket.writableLength, 64 * 1024 * 1024)
  })
})
