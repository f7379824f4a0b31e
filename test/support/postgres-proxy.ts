// A proxy in front of PostgreSQL that refuses statements as the test requires, as a pooler or another engine would.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Scope } from './service.ts'

interface Refusal {
  readonly code: string
  readonly message: string
  /** The name of the function in the source of PostgreSQL. */
  readonly routine?: string
}

/**
 * Takes the name and the text of a statement, and returns undefined to let it pass, or `malformed` for a message that is none. A
 * simple query has no name.
 */
export type Refuse = (name: string, text: string) => Refusal | 'malformed' | undefined

/** Returns the URL of the proxy. */
export async function startPostgresProxy(t: Scope, url: string, refuse: Refuse): Promise<string> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const upstream = connect(Number(target.port), target.hostname)
    const pass = createFilter(refuse, upstream, client)
    client.on('data', pass)
    upstream.pipe(client)
    for (const socket of [client, upstream]) {
      // Without this, the system holds back small messages, which takes 40 ms for each statement.
      socket.setNoDelay()
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        client.destroy()
        upstream.destroy()
      })
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return Object.assign(new URL(url), { port: String(port) }).href
}

const LENGTH_BYTES = 4

/** A request for a kind of authentication that does not exist. */
const MALFORMED = encode('R', '\0\0\0c')

/** Splits what the client sends into messages. After a refusal it drops them up to the next Sync, as a server does. */
function createFilter(refuse: Refuse, upstream: Socket, client: Socket): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  let hasStarted = false
  let isRefusing = false

  function onMessage(message: Buffer): void {
    const type = String.fromCharCode(message[0] ?? 0)
    if (isRefusing) {
      if (type !== 'S') return
      isRefusing = false
      client.write(encode('Z', 'I'))
      return
    }
    const parts = message
      .subarray(1 + LENGTH_BYTES)
      .toString()
      .split('\0')
    const [name = '', text = ''] = type === 'Q' ? ['', ...parts] : parts
    const refusal = type === 'Q' || type === 'P' ? refuse(name, text) : undefined
    if (refusal === undefined) {
      upstream.write(message)
      return
    }
    if (refusal === 'malformed') {
      client.write(MALFORMED)
      return
    }
    const { code, message: reason, routine = 'test' } = refusal
    client.write(
      encode('E', ['SERROR', 'VERROR', `C${code}`, `M${reason}`, `R${routine}`, '', ''].join('\0')),
    )
    if (type === 'Q') client.write(encode('Z', 'I'))
    else isRefusing = true
  }

  return chunk => {
    rest = Buffer.concat([rest, chunk])
    for (;;) {
      // The first message has no type.
      const start = hasStarted ? 1 : 0
      if (rest.length < start + LENGTH_BYTES) return
      const end = start + rest.readInt32BE(start)
      if (rest.length < end) return
      const message = rest.subarray(0, end)
      rest = rest.subarray(end)
      if (hasStarted) onMessage(message)
      else upstream.write(message)
      hasStarted = true
    }
  }
}

function encode(type: string, body: string): Buffer {
  const bytes = Buffer.from(body)
  const head = Buffer.alloc(1 + LENGTH_BYTES)
  head.write(type)
  head.writeInt32BE(LENGTH_BYTES + bytes.length, 1)
  return Buffer.concat([head, bytes])
}
