// A request as it was sent: its headers, its target, and the checks of RFC 9110 and RFC 9112 that Node's HTTP parser leaves
// out.

import type { IncomingMessage } from 'node:http'
import { invalid } from '../../error.ts'
import { expectationFailed } from './protocol-errors.ts'

/**
 * A host and an optional port (RFC 9112, section 3.2). A comma is rejected although a name may contain one: no real
 * host has one, so a proxy must have joined two Host headers.
 */
const HOST = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+;=-]|%[\da-f]{2})*)(?::\d*)?$/i

const ABSOLUTE = /^https?:\/\/([^/?#]*)/i

/** Returns all values of a header, in the order they were sent: Node's own `headers` joins or drops repeated ones. */
export function headerValues({ headers, rawHeaders }: IncomingMessage, lowerCaseName: string): string[] {
  // Most headers are absent. Node's own object shows that without a search.
  if (headers[lowerCaseName] === undefined) return []
  const values: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (name.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName)
      values.push(rawHeaders[index + 1] ?? '')
  }
  return values
}

/** Returns the values joined with commas, or undefined if there is none. */
export function joinedHeader(request: IncomingMessage, lowerCaseName: string): string | undefined {
  const values = headerValues(request, lowerCaseName)
  return values.length === 0 ? undefined : values.join(', ')
}

/** A path with malformed percent-encoding becomes one that no route matches. */
export function parseTarget({ url = '/' }: IncomingMessage): {
  readonly path: string
  readonly query: string
} {
  const relative = url.startsWith('/') ? url : url.replace(ABSOLUTE, '')
  const queryAt = relative.indexOf('?')
  const path = queryAt === -1 ? relative : relative.slice(0, queryAt)
  const query = queryAt === -1 ? '' : relative.slice(queryAt + 1)
  return { path: decode(path) || '/', query }
}

function decode(path: string): string {
  if (!path.includes('%')) return path
  try {
    return decodeURI(path)
  } catch {
    // No route except `/` ends in a slash.
    return `${path}/`
  }
}

/** Throws `invalid_request` unless the version, the target, the Host and the framing of the request are valid. */
export function checkMessage(request: IncomingMessage): void {
  // The parser accepts HTTP/0.9 and HTTP/2.0 in the form of HTTP/1.
  if (request.httpVersionMajor !== 1) throw invalid('The request must be HTTP/1.1 or HTTP/1.0.')
  checkTarget(request)
  checkHost(request)
  if (hasFaultyFraming(request)) throw invalid('Transfer-Encoding may only be chunked, and only in HTTP/1.1.')
}

/** An absolute target needs a host, and must not have user information (RFC 9110, section 4.2). */
function checkTarget({ url = '/' }: IncomingMessage): void {
  if (url.startsWith('/')) return
  const authority = ABSOLUTE.exec(url)?.[1]
  if (authority !== undefined && (/^(:|$)/.test(authority) || !HOST.test(authority)))
    throw invalid('An absolute target must have a valid host and no user information.')
}

function checkHost(request: IncomingMessage): void {
  const [host, second] = headerValues(request, 'host')
  if (second !== undefined || (host === undefined && request.httpVersion === '1.1'))
    throw invalid('The request must have exactly one Host header.')
  if (host !== undefined && !HOST.test(host))
    throw invalid('The Host header must be a host name or an IP address, with or without a port.')
}

/** Throws `expectation_failed` for an `Expect` header that is not `100-continue`. */
export function checkExpectation(request: IncomingMessage): void {
  for (const expectation of headerValues(request, 'expect')) {
    if (expectation.toLowerCase() !== '100-continue') throw expectationFailed()
  }
}

/**
 * Returns whether the connection must close after this request. After an `Upgrade`, the client may send another protocol,
 * of which Node's parser drops some bytes and reads the others as requests. After faulty framing, it is unknown where the
 * next request begins.
 */
export function isLastRequest(request: IncomingMessage): boolean {
  return request.headers.upgrade !== undefined || hasFaultyFraming(request)
}

/**
 * Returns whether a proxy in front of the service might find another end of the body than the parser. HTTP/0.9 and HTTP/2.0
 * frame requests in other ways. The parser accepts other codings before `chunked`, and does not decode them. HTTP/1.0 has
 * no Transfer-Encoding (RFC 9112, section 6.1).
 */
function hasFaultyFraming(request: IncomingMessage): boolean {
  if (request.httpVersionMajor !== 1) return true
  const coding = request.headers['transfer-encoding']
  if (coding === undefined) return false
  return coding.toLowerCase() !== 'chunked' || request.httpVersion !== '1.1'
}
