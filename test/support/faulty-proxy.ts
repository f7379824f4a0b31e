// A proxy in front of a service that does to each request what the test asks for: the network at its worst.

import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Scope } from './service.ts'

export type Fault =
  | 'none'
  /** The connection breaks before the service has seen the request. */
  | 'lost request'
  /** The service has done what it was asked for, and nobody is told. */
  | 'lost answer'
  | 'half an answer'
  /** The service has done it, and the answer never comes. */
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
  /** How many answers have left. */
  answered(): number
}

/** Each request meets the next fault; when there are no more, none. */
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
    else answer(outgoing, await forward(address, incoming, body), fault)
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
  readonly answer: IncomingMessage
  readonly body: Buffer
}

async function forward(address: string, incoming: IncomingMessage, body: Buffer): Promise<Forwarded> {
  const { method, url, headers } = incoming
  const outgoing = request(address + url, { method: method ?? 'GET', headers, agent: false }).end(body)
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  return { answer, body: await buffer(answer) }
}

function answer(outgoing: ServerResponse, { answer, body }: Forwarded, fault: Fault): void {
  if (fault === 'silence') return
  if (fault === 'lost answer') {
    outgoing.destroy()
    return
  }
  outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
  if (fault === 'none') outgoing.end(body)
  else outgoing.write(body.subarray(0, body.length / 2), () => outgoing.destroy())
}
