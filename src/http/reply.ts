// An answer as a value, and how it is sent.

import type { Exchange } from './exchange.ts'

export interface Reply {
  readonly status: number
  /** Names and values in turn, those that describe the body among them. */
  readonly headers: readonly string[]
  readonly body: string | Buffer
}

/** JSON that is already text. */
export function jsonReply(status: number, body: string, headers: readonly string[] = []): Reply {
  const length = String(Buffer.byteLength(body))
  return { status, headers: ['content-type', 'application/json', 'content-length', length, ...headers], body }
}

export function send(exchange: Exchange, { status, headers, body }: Reply, isAccepting: boolean): void {
  const { id, request, response } = exchange
  // The connection is gone, or broke and was answered without us.
  if (response.destroyed || response.headersSent) return
  const all = ['x-request-id', id, ...headers, ...exchange.headers]
  // Asks the client to reconnect, elsewhere, before this connection is closed.
  if (!isAccepting) all.push('connection', 'close')
  response.writeHead(status, all)
  response.end(body)
  if (!isDelivered(exchange)) request.socket.setTimeout(STALLED_MS)
  if (!request.complete) linger(request)
}

/**
 * Whether all of a request has come, and all of its answer has left: almost always so as soon as it was sent. Not if the
 * client takes nothing, or if the answer waits behind that to an earlier request.
 */
export function isDelivered({ request, response }: Exchange): boolean {
  return request.complete && response.socket !== null && request.socket.writableLength === 0
}

/** A client that takes nothing of its answer for this long is let go. */
const STALLED_MS = 60_000

/** How long a client may go on sending a body after its request was answered. */
const LINGER_MS = 1_000

/** Closing while the client still sends would reset the connection, and it might never see its answer. */
function linger(request: Exchange['request']): void {
  const timer = setTimeout(() => request.complete || request.socket.destroy(), LINGER_MS)
  request.once('close', () => clearTimeout(timer))
}
