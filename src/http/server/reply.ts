// A reply as a plain value, and how it is sent.

import type { Duplex } from 'node:stream'
import { renderError, type ServiceError } from '../../error.ts'
import type { Exchange } from './exchange.ts'
import { STATUS_CODES } from './node-http.ts'

export interface Reply {
  readonly status: number
  /** Alternating names and values, with the content type and length. */
  readonly headers: readonly string[]
  readonly body: string | Buffer
}

/** A client that reads nothing of its response for this long is disconnected. */
const STALLED_MS = 60_000

/** How long a client may go on sending its body after the response, and how much of it is read. */
const LINGER_MS = 1_000
const LINGER_BYTES = 256 * 1024

/**
 * From this length on, a body is kept as bytes. Node copies a string twice for each response, once into the heap, where the
 * copy stays until the next full garbage collection; clients that read slowly share the bytes of a cached page.
 */
const LARGE_CHARACTERS = 64 * 1024

/**
 * Headers of every reply except documents: no cache may keep it, and no browser may guess another media type, load anything for it
 * or show it in a frame.
 */
export const API_HEADERS = [
  'cache-control',
  'no-store',
  'x-content-type-options',
  'nosniff',
  'content-security-policy',
  "default-src 'none'; frame-ancestors 'none'",
] as const

/** Takes rendered JSON. */
export function jsonReply(status: number, json: string, headers: readonly string[] = []): Reply {
  const body = json.length < LARGE_CHARACTERS ? json : Buffer.from(json)
  const length = Buffer.byteLength(body)
  const contentHeaders = ['content-type', 'application/json', 'content-length', String(length)]
  return { status, headers: [...contentHeaders, ...API_HEADERS, ...headers], body }
}

export function emptyReply(status: number, headers: readonly string[] = []): Reply {
  return { status, headers: [...API_HEADERS, ...headers], body: '' }
}

/** The answer of a health check. */
export const OK_REPLY = jsonReply(200, '{"status":"ok"}')

/** The JSON error object, with the headers that belong to the error. */
export function errorReply(error: ServiceError): Reply {
  return jsonReply(error.status, renderError(error), error.headers)
}

export function send(exchange: Exchange, reply: Reply, isAccepting: boolean): void {
  const { id, request, response } = exchange
  const { status, headers, body } = reply
  // The client disconnected, or its body was malformed and the parser error was written to the socket.
  if (response.destroyed || response.headersSent) return
  const all = ['x-request-id', id, ...headers, ...exchange.headers]
  // While the service stops, clients should reconnect to another instance.
  if (!isAccepting || exchange.isLast) all.push('connection', 'close')
  response.writeHead(status, all)
  if (!request.complete) closeAfterLinger(request)
  response.end(body)
  if (!isDelivered(exchange)) request.socket.setTimeout(STALLED_MS)
}

/**
 * Returns whether the whole request was received and the whole response was handed to the operating system. That is
 * almost always so right after `send`, except when the client does not read or an earlier pipelined response is still
 * waiting.
 */
export function isDelivered({ request, response }: Exchange): boolean {
  return request.complete && response.socket !== null && request.socket.writableLength === 0
}

/** Closing while the client still sends would reset the connection, and it might never see the response. */
function closeAfterLinger(request: Exchange['request']): void {
  const { socket } = request
  const limit = socket.bytesRead + LINGER_BYTES
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  request.once('close', () => clearTimeout(timer))
  request.on('data', () => socket.bytesRead > limit && socket.destroy()).resume()
}

/**
 * Writes the error to a connection that cannot be used any further, and closes it: Node would send an empty body, or nothing.
 * Returns false if the connection was already closed. There is no exchange if the parser rejected the headers.
 */
export function writeRawError(
  socket: Duplex,
  error: ServiceError,
  requestId: string,
  exchange?: Exchange,
): boolean {
  if (!socket.writable) {
    socket.destroy()
    return false
  }
  const { status, headers, body } = errorReply(error)
  const all = ['x-request-id', requestId, 'date', new Date().toUTCString(), 'connection', 'close', ...headers]
  if (exchange !== undefined) all.push(...exchange.headers)
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`]
  for (let index = 0; index < all.length; index += 2) lines.push(`${all[index]}: ${all[index + 1]}`)
  const sentBody = exchange?.request.method === 'HEAD' ? '' : body
  socket.end(`${lines.join('\r\n')}\r\n\r\n${sentBody}`, () => socket.destroy())
  return true
}
