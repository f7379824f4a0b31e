// The HTTP server without the application: for tests of connections.

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import type { Exchange } from '../../src/http/server/exchange.ts'
import type { Reply } from '../../src/http/server/reply.ts'
import { createHttpServer, type HttpServerOptions } from '../../src/http/server/server.ts'
import { connectRaw, type RawConnection } from './raw-http.ts'
import type { Scope } from './service.ts'

interface TestServerOptions extends Omit<HttpServerOptions, 'answer' | 'log'> {
  readonly answer: (path: string, exchange: Exchange) => Reply | Promise<Reply>
}

export async function startTestServer(t: Scope, { answer, ...options }: TestServerOptions) {
  const lines: string[] = []
  const { server, connectionCount } = createHttpServer({
    ...options,
    answer: exchange => answer(exchange.path, exchange),
    log: pino({ level: 'warn', base: null }, { write: line => void lines.push(line) }),
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  /** Opens a connection and waits until the server has accepted it. */
  async function open(): Promise<RawConnection> {
    const accepted = once(server, 'connection')
    const connection = connectRaw(address)
    t.after(() => connection.socket.destroy())
    await accepted
    return connection
  }

  async function openSeveral(count: number): Promise<RawConnection[]> {
    const opened: RawConnection[] = []
    while (opened.length < count) opened.push(await open())
    return opened
  }

  return { open, openSeveral, connectionCount, warnings: () => lines.map(line => JSON.parse(line)) }
}
