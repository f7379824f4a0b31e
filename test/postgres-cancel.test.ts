// The request that cancels a statement of PostgreSQL: it goes over TLS if the URL asks for TLS, and never in clear then.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { suite, type TestContext, test } from 'node:test'
import pg from 'pg'
import { cancelQuery } from '../src/database/postgres/cancel.ts'

const TLS_REQUEST = '0000000804d2162f'
const CANCEL_REQUEST = '0000001004d2162e0000000700000009'

/** Returns what a server receives, in hexadecimal, that answers the request for TLS like this. */
async function received(t: TestContext, query: string, answer: string): Promise<string> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const { port } = server.address() as { port: number }
  const client = new pg.Client({ connectionString: `postgres://u@127.0.0.1:${port}/db${query}` })
  cancelQuery(Object.assign(client, { processID: 7, secretKey: 9 }) as unknown as pg.PoolClient, 1_000)
  const [socket] = await once(server, 'connection')
  const chunks: Buffer[] = []
  socket
    .on('error', () => {})
    .on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      if (chunks.length === 1) socket.write(answer)
      else socket.destroy()
    })
  await once(socket, 'close')
  return Buffer.concat(chunks).toString('hex')
}

suite('a request to cancel a statement', () => {
  test('is sent in clear without TLS', async t => {
    assert.equal(await received(t, '', ''), CANCEL_REQUEST)
  })

  test('is not sent if the URL asks for TLS and the server does not support it', async t => {
    assert.equal(await received(t, '?sslmode=verify-full', 'N'), TLS_REQUEST)
  })

  test('begins with a TLS handshake if the server supports it', async t => {
    // 16 is the type of a handshake record, 0301 the version that all versions of TLS start with.
    assert.match(await received(t, '?sslmode=verify-full', 'S'), new RegExp(`^${TLS_REQUEST}160301`))
  })
})
