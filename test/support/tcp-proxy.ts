// A proxy in front of a PostgreSQL server that can hang or close its connections.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Scope } from './service.ts'

export interface TcpProxy {
  /** The URL of the server, through the proxy. */
  readonly url: string
  /** From now on, the proxy accepts connections and never answers. */
  hang(): void
  /** From now on, the proxy forwards again. Connections that were open are closed. */
  recover(): void
  closeAll(): void
}

export async function startTcpProxy(t: Scope, serverUrl: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(serverUrl)
  const clients = new Set<Socket>()
  let isHanging = false
  const proxy = createServer(client => {
    clients.add(client)
    client.on('error', () => {})
    client.on('close', () => clients.delete(client))
    if (isHanging) return
    const server = connect(Number(port), hostname)
    server.on('error', () => client.destroy())
    client.on('close', () => server.destroy())
    client.pipe(server).pipe(client)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const closeAll = () => {
    for (const client of clients) client.destroy()
  }
  t.after(() => {
    closeAll()
    proxy.close()
  })
  return {
    url: Object.assign(new URL(serverUrl), { port: (proxy.address() as AddressInfo).port }).href,
    hang() {
      isHanging = true
    },
    recover() {
      isHanging = false
      closeAll()
    },
    closeAll,
  }
}
