// Reads the JSON body of a request: checks its media type, then its size, then its text.

import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { invalid, ServiceError } from '../../error.ts'
import { bodyTooLarge, MAX_BODY_BYTES, unsupportedEncoding, unsupportedMediaType } from './protocol-errors.ts'
import { headerValues, joinedHeader } from './request.ts'

const JSON_TYPE = /^application\/json[ \t]*(?:$|(?=;))/i

/** A parameter and the semicolon before it. Its value is a quoted string, or ends at the next semicolon. */
const PARAMETER = /;([^;=]*)(?:=(?:"((?:[^"\\]|\\.)*)"[^;]*|([^;]*)))?/g

const UTF_8 = /^utf-?8$/i

/**
 * Resolves with the bytes of the body. Rejects with `unsupported_media_type` or `payload_too_large` without reading the
 * rest. An empty body is accepted whatever its media type.
 */
export async function readBody(request: IncomingMessage, response: ServerResponse): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0

  function accept(chunk: Buffer): void {
    if (length === 0) checkMediaType(request)
    length += chunk.length
    if (length > MAX_BODY_BYTES) throw bodyTooLarge()
    chunks.push(chunk)
  }

  const declaredLength = Number(headerValues(request, 'content-length')[0] ?? 0)
  if (declaredLength > 0) checkMediaType(request)
  if (declaredLength > MAX_BODY_BYTES) throw bodyTooLarge()
  if (headerValues(request, 'expect').length > 0 && request.httpVersion === '1.1') response.writeContinue()
  if (!request.readableEnded) await readChunks(request, accept)
  return Buffer.concat(chunks, length)
}

/** Throws `invalid_request` if the body is not JSON in UTF-8. `parse` must throw for malformed JSON. */
export function parseBody(body: Buffer, parse: (text: string) => unknown): unknown {
  if (!isUtf8(body)) throw invalid('The body must be UTF-8.')
  try {
    return parse(body.toString())
  } catch {
    throw invalid('The body must be well-formed JSON.')
  }
}

/** `for await` would destroy the connection when `accept` throws, before the error could be sent. */
function readChunks(request: IncomingMessage, accept: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    if (request.destroyed) reject(endedEarly())
    function onData(chunk: Buffer): void {
      try {
        accept(chunk)
      } catch (error) {
        request.off('data', onData).pause()
        reject(error)
      }
    }
    request.on('data', onData)
    request.on('end', resolve)
    request.on('error', error => reject(endedEarly(error)))
  })
}

function checkMediaType(request: IncomingMessage): void {
  const types = headerValues(request, 'content-type')
  if (types.length !== 1 || !types.every(isJson)) throw unsupportedMediaType()
  const encoding = joinedHeader(request, 'content-encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') throw unsupportedEncoding()
}

function endedEarly(cause?: Error): ServiceError {
  return new ServiceError('invalid_request', 'The body ended before it was complete.', { cause })
}

/** Returns whether a `Content-Type` is `application/json`, in UTF-8 if it names a charset. Takes linear time. */
export function isJson(contentType: string): boolean {
  // Almost every client sends exactly this.
  if (contentType === 'application/json') return true
  if (!JSON_TYPE.test(contentType)) return false
  let charsets = 0
  for (const [, name = '', quoted, plain = ''] of contentType.matchAll(PARAMETER)) {
    if (name.trim().toLowerCase() !== 'charset') continue
    const charset = quoted?.replace(/\\(.)/g, '$1') ?? plain.trim()
    if (++charsets > 1 || !UTF_8.test(charset)) return false
  }
  return true
}
