// Reads the JSON body of a request: checks its media type, then its size, then its text.

import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { invalid, ServiceError } from '../../error.ts'
import {
  bodyTooLarge,
  MAX_BODY_BYTES,
  unsupportedEncoding,
  unsupportedMediaType,
  unsupportedPatch,
} from './protocol-errors.ts'
import { headerValues, joinedHeader } from './request.ts'

/** What a body may be. */
export interface BodyType {
  readonly mediaTypes: readonly string[]
  /** What a body of another type is rejected with. */
  readonly unsupported: () => ServiceError
}

export const JSON_BODY: BodyType = {
  mediaTypes: ['application/json'],
  unsupported: unsupportedMediaType,
}

export const MERGE_PATCH_BODY: BodyType = {
  mediaTypes: ['application/merge-patch+json', 'application/json'],
  unsupported: unsupportedPatch,
}

/** A parameter and the semicolon before it. Its value is a quoted string, or ends at the next semicolon. */
const PARAMETER = /;([^;=]*)(?:=(?:"((?:[^"\\]|\\.)*)"[^;]*|([^;]*)))?/g

const UTF_8 = /^utf-?8$/i

/**
 * Resolves with the bytes of the body. Rejects with `unsupported_media_type` or `payload_too_large` without reading the
 * rest. An empty body is accepted whatever its media type.
 */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  type: BodyType,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0

  function accept(chunk: Buffer): void {
    if (length === 0) checkMediaType(request, type)
    length += chunk.length
    if (length > MAX_BODY_BYTES) throw bodyTooLarge()
    chunks.push(chunk)
  }

  const declaredLength = Number(headerValues(request, 'content-length')[0] ?? 0)
  if (declaredLength > 0) checkMediaType(request, type)
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
    throw invalid('The body is not valid JSON.')
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

function checkMediaType(request: IncomingMessage, { mediaTypes, unsupported }: BodyType): void {
  const sent = headerValues(request, 'content-type')
  if (sent.length !== 1 || !sent.every(value => hasMediaType(value, mediaTypes))) throw unsupported()
  const encoding = joinedHeader(request, 'content-encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') throw unsupportedEncoding()
}

function endedEarly(cause?: Error): ServiceError {
  return new ServiceError('invalid_request', 'The body ended before it was complete.', { cause })
}

/** Returns whether a `Content-Type` is one of these, in UTF-8 if it names a charset. Takes linear time. */
export function hasMediaType(contentType: string, mediaTypes: readonly string[]): boolean {
  // Almost every client sends exactly one of these.
  if (mediaTypes.includes(contentType)) return true
  const [type = ''] = contentType.split(';', 1)
  // Only spaces and tabs may stand before the parameters.
  if (!mediaTypes.includes(type.toLowerCase().replace(/[ \t]+$/, ''))) return false
  let charsets = 0
  for (const [, name = '', quoted, plain = ''] of contentType.matchAll(PARAMETER)) {
    if (name.trim().toLowerCase() !== 'charset') continue
    const charset = quoted?.replace(/\\(.)/g, '$1') ?? plain.trim()
    if (++charsets > 1 || !UTF_8.test(charset)) return false
  }
  return true
}
