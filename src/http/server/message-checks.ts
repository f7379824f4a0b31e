// What RFC 9110 and RFC 9112 ask of a server and Node's HTTP parser leaves out: the Host header, the ways to frame a body,
// and expectations.

import type { IncomingMessage } from 'node:http'
import { invalid } from '../../error.ts'
import { headerValues } from './headers.ts'
import { expectationFailed } from './protocol-errors.ts'

/**
 * A host and an optional port (RFC 9112, section 3.2). A comma is rejected although a name may contain one: no real
 * host has one, so a proxy must have joined two Host headers.
 */
const HOST = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+;=-]|%[\da-f]{2})*)(?::\d*)?$/i

const ABSOLUTE = /^https?:\/\/([^/?#]*)/i

/** Throws `invalid_request` unless the version, the target, the Host and the framing of the request are valid. */
export function checkMessage(request: IncomingMessage): void {
  checkVersion(request)
  checkTarget(request)
  checkHost(request)
  checkTransferEncoding(request)
}

/** Throws `invalid_request` unless the request has exactly one well-formed Host. HTTP/1.0 needs none. */
function checkHost(request: IncomingMessage): void {
  const [host, second] = headerValues(request, 'host')
  if (second !== undefined || (host === undefined && request.httpVersion === '1.1')) {
    throw invalid('The request must have exactly one Host header.')
  }
  if (host !== undefined && !HOST.test(host)) {
    throw invalid('The Host header must be a host name or an IP address, with or without a port.')
  }
}

/** Throws `invalid_request` for an absolute target without a host, or with user information (RFC 9110, section 4.2). */
function checkTarget({ url = '/' }: IncomingMessage): void {
  if (url.startsWith('/')) return
  const authority = ABSOLUTE.exec(url)?.[1]
  if (authority !== undefined && (/^(:|$)/.test(authority) || !HOST.test(authority)))
    throw invalid('An absolute target must have a valid host and no user information.')
}

/** Throws `invalid_request` for HTTP/0.9 and HTTP/2.0, which the parser accepts in the form of HTTP/1. */
function checkVersion(request: IncomingMessage): void {
  if (request.httpVersionMajor !== 1) throw invalid('The request must be HTTP/1.1 or HTTP/1.0.')
}

/** Throws `invalid_request` if a proxy in front of the service might find another end of the body than the parser. */
function checkTransferEncoding(request: IncomingMessage): void {
  if (hasFaultyFraming(request)) {
    throw invalid('Transfer-Encoding may only be chunked, and only in HTTP/1.1.')
  }
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
 * HTTP/0.9 and HTTP/2.0 frame requests in other ways. The parser accepts other codings before `chunked`, and does not
 * decode them. HTTP/1.0 has no Transfer-Encoding (RFC 9112, section 6.1).
 */
function hasFaultyFraming(request: IncomingMessage): boolean {
  if (request.httpVersionMajor !== 1) return true
  const coding = request.headers['transfer-encoding']
  if (coding === undefined) return false
  return coding.toLowerCase() !== 'chunked' || request.httpVersion !== '1.1'
}
