// Refusals below the level of requests: what Node's own parser would answer with an empty body.

import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { invalid, ServiceError } from '../error.ts'
import { renderError } from './errors.ts'

/** Writes the refusal to a connection that cannot go on, and ends it. Returns whether anyone was there to read it. */
export function answerRaw(
  socket: Duplex,
  refusal: ServiceError,
  requestId: string,
  headers: readonly string[] = [],
): boolean {
  if (!socket.writable) {
    socket.destroy()
    return false
  }
  const body = renderError(refusal)
  const head = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    `date: ${new Date().toUTCString()}`,
    'connection: close',
  ]
  for (let at = 0; at < headers.length; at += 2) head.push(`${headers[at]}: ${headers[at + 1]}`)
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
  return true
}

export function refusalFor(error: NodeJS.ErrnoException): ServiceError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ServiceError(
        'headers_too_large',
        'The request line and headers must have at most 16 KiB, in not too many headers.',
      )
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ServiceError('payload_too_large', 'The chunk extensions must have at most 16 KiB.')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ServiceError('request_timeout', 'The request did not arrive in time.')
    default:
      return invalid('The request is not well-formed HTTP/1.1.')
  }
}
