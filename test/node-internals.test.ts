// What the service uses of Node.js although it is not documented. If one of these tests fails with a new version of Node.js, look
// at src/http/server/node-internals.ts.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { suite, type TestContext, test } from 'node:test'
import { skipRequests } from '../src/http/server/node-internals.ts'
import { connectRaw } from './support/raw-http.ts'
import { waitUntil } from './support/wait.ts'

async function addressOf(t: TestContext, server: Server): Promise<string> {
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

  test('a request without a body is complete once the parser has read what has arrived', async t => {
    const seen: boolean[] = []
    const server = createServer(async (request, response) => {
      seen.push(request.complete)
      await undefined
      seen.push(request.complete)
      response.end()
    })
    const { socket, received } = connectRaw(await addressOf(t, server))
    t.after(() => socket.destroy())
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await waitUntil(() => received().includes('200'), { what: 'it is answered' })
    assert.deepEqual(seen, [false, true])
  })
})
