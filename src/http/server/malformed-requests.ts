// Requests that Node's HTTP parser rejects. Node would answer them with an empty body, or not at all.

import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { invalid, renderError, type ServiceError } from '../../error.ts'
import { chunkExtensionsTooLarge, headersTooLarge, requestTimeout } from './protocol-errors.ts'
import { API_HEADERS, type Exchange } from './reply.ts'

export const TIMEOUT_CODE = 'ERR_HTTP_REQUEST_TIMEOUT'

export function fromParserError({ code }: NodeJS.ErrnoException): ServiceError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return headersTooLarge()
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return chunkExtensionsTooLarge()
    case TIMEOUT_CODE:
      return requestTimeout()
    default:
      return invalid('The request is not well-formed HTTP/1.1.')
  }
}

/**
 * Writes the error to a connection that cannot be used any further, and closes it. Returns false if the connection was
 * already closed. There is no exchange if the parser rejected the headers.
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
  const body = renderError(error)
  const headers = [
    ...['content-type', 'application/json', 'content-length', String(Buffer.byteLength(body))],
    ...['x-request-id', requestId, 'date', new Date().toUTCString(), 'connection', 'close'],
    ...API_HEADERS,
    ...error.headers,
    ...(exchange?.headers ?? []),
  ]
  const lines = [`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`]
  for (let index = 0; index < headers.length; index += 2)
    lines.push(`${headers[index]}: ${headers[index + 1]}`)
  const sentBody = exchange?.request.method === 'HEAD' ? '' : body
  socket.end(`${lines.join('\r\n')}\r\n\r\n${sentBody}`, () => socket.destroy())
  return true
}
