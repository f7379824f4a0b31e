// A proxy in front of a service that drops, truncates or replaces responses as the test requires.

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

export interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly at: number
}

export interface FaultyProxy {
  readonly address: string
  readonly seen: readonly Seen[]
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
  const seen: Seen[] = []
  let answered = 0
  const server = createServer(async (incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming
    outgoing.once('finish', () => answered++)
    seen.push({ method, path: url, headers, at: performance.now() })
    const body = await buffer(incoming)
    const fault = upcoming.next().value ?? 'none'
    if (fault === 'lost request') incoming.socket.destroy()
    else if (typeof fault === 'object') outgoing.writeHead(fault.status, fault.headers).end(fault.body)
    else respond(outgoing, await forward(address, incoming, body), fault)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { address: `http://127.0.0.1:${port}`, seen, answered: () => answered }
}

interface Forwarded {
  readonly response: IncomingMessage
  readonly body: Buffer
}

async function forward(address: string, incoming: IncomingMessage, body: Buffer): Promise<Forwarded> {
  const { method, url, headers } = incoming
  const outgoing = request(address + url, { method: method ?? 'GET', headers, agent: false }).end(body)
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  return { response, body: await buffer(response) }
}

function respond(outgoing: ServerResponse, { response, body }: Forwarded, fault: Fault): void {
  if (fault === 'silence') return
  if (fault === 'lost answer') {
    outgoing.destroy()
    return
  }
  outgoing.writeHead(response.statusCode ?? 500, response.headers)
  if (fault === 'none') outgoing.end(body)
  else outgoing.write(body.subarray(0, body.length / 2), () => outgoing.destroy())
}
