// Proxies in front of a service: one breaks responses as the test requires, one serves it below a prefix.

import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Scope } from './service.ts'

export type Fault =
  | 'none'
  /** The connection breaks before the request reaches the service. */
  | 'lost request'
  /** The service has executed the request, but the connection breaks before the response. */
  | 'lost answer'
  | 'half an answer'
  /** The service has executed the request, but the response never arrives. */
  | 'silence'
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }

export interface FaultyProxy {
  readonly address: string
  readonly seen: readonly {
    readonly method: string
    readonly path: string
    readonly headers: IncomingMessage['headers']
    readonly at: number
  }[]
  /** The number of responses that were sent completely. */
  answered(): number
}

/** Each request gets the next fault. When the list is used up, requests pass unchanged. */
export async function startFaultyProxy(
  t: Scope,
  address: string,
  faults: readonly Fault[],
): Promise<FaultyProxy> {
  const upcoming = faults.values()
  const seen: FaultyProxy['seen'][number][] = []
  let answered = 0
  const proxy = await startProxy(t, async (incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming
    outgoing.once('finish', () => answered++)
    seen.push({ method, path: url, headers, at: performance.now() })
    const sent = await buffer(incoming)
    const fault = upcoming.next().value ?? 'none'
    if (fault === 'lost request') incoming.socket.destroy()
    else if (typeof fault === 'object') outgoing.writeHead(fault.status, fault.headers).end(fault.body)
    else {
      const { response, body } = await forward(address + url, incoming, sent)
      if (fault === 'silence') return
      if (fault === 'lost answer') return void outgoing.destroy()
      outgoing.writeHead(response.statusCode ?? 500, response.headers)
      if (fault === 'none') outgoing.end(body)
      else outgoing.write(body.subarray(0, body.length / 2), () => outgoing.destroy())
    }
  })
  return { address: proxy, seen, answered: () => answered }
}

/**
 * Removes the prefix, a path such as `/animals`, before it forwards a request. Started before its service, whose public
 * URL has the port of the proxy: `forwardTo` must be called before the first request.
 */
export async function startPrefixProxy(t: Scope, prefix: string) {
  let service = ''
  const address = await startProxy(t, async (incoming, outgoing) => {
    const { url = '' } = incoming
    if (!url.startsWith(`${prefix}/`)) return void outgoing.writeHead(404).end()
    const sent = await buffer(incoming)
    const { response, body } = await forward(service + url.slice(prefix.length), incoming, sent)
    outgoing.writeHead(response.statusCode ?? 500, response.rawHeaders).end(body)
  })
  return {
    /** Without the prefix. */
    address,
    forwardTo(address: string) {
      service = address
    },
  }
}

async function startProxy(
  t: Scope,
  onRequest: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>,
): Promise<string> {
  // An idle connection stays open: on a busy machine, a request could meet its end.
  const server = createServer({ keepAliveTimeout: 0 }, (incoming, outgoing) => {
    onRequest(incoming, outgoing).catch(() => outgoing.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function forward(url: string, { method = 'GET', headers }: IncomingMessage, body: Buffer) {
  const outgoing = request(url, { method, headers, agent: false }).end(body)
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  return { response, body: await buffer(response) }
}
