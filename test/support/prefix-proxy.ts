// A proxy that serves a service below a prefix, and removes the prefix from the path before it forwards a request.

import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Scope } from './service.ts'

export interface PrefixProxy {
  /** Without the prefix. */
  readonly address: string
  /** Must be called before the first request. */
  forwardTo(service: string): void
}

/** Started before its service, whose public URL has the port of the proxy. `prefix` is a path such as `/animals`. */
export async function startPrefixProxy(t: Scope, prefix: string): Promise<PrefixProxy> {
  let service = ''
  // An idle connection stays open: on a busy machine, a request could meet its end.
  const server = createServer({ keepAliveTimeout: 0 }, (incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming
    if (!url.startsWith(`${prefix}/`)) {
      outgoing.writeHead(404).end()
      return
    }
    const forwarded = request(
      service + url.slice(prefix.length),
      { method, headers, agent: false },
      response => {
        outgoing.writeHead(response.statusCode ?? 500, response.rawHeaders)
        response.pipe(outgoing)
      },
    )
    forwarded.on('error', () => outgoing.destroy())
    incoming.pipe(forwarded)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    address: `http://127.0.0.1:${port}`,
    forwardTo(address) {
      service = address
    },
  }
}
