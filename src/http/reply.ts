// An answer as a value, and how it is sent.

import type { Exchange } from './exchange.ts'

export interface Reply {
  readonly status: number
  readonly mediaType: string
  /** Names and values in turn. */
  readonly headers: readonly string[]
  readonly body: string | Buffer
}

/** JSON that is already text. */
export function jsonReply(status: number, body: string, headers: readonly string[] = []): Reply {
  return { status, mediaType: 'application/json', headers, body }
}

export function send(
  { id, request, response, headers }: Exchange,
  { status, mediaType, headers: ofReply, body }: Reply,
  isAccepting: boolean,
): void {
  // The connection is gone, or broke and was answered without us.
  if (response.destroyed || response.headersSent) return
  const length = String(Buffer.byteLength(body))
  const all = ['content-type', mediaType, 'content-length', length, 'x-request-id', id]
  all.push(...ofReply, ...headers)
  // Asks the client to reconnect, elsewhere, before this connection is closed.
  if (!isAccepting) all.push('connection', 'close')
  response.writeHead(status, all)
  response.end(body)
  // Almost always all of it has left by now, and nobody needs to watch. It has not if the client takes nothing, or if
  // it waits behind the answer to an earlier request.
  const hasLeft = response.socket !== null && request.socket.writableLength === 0
  if (!hasLeft) request.socket.setTimeout(STALLED_MS)
  if (!request.complete) linger(request)
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
