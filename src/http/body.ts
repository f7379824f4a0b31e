// Reads the JSON body of a request: judges its media type, then its size, then its text.

import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { MIMEType } from 'node:util'
import { invalid, ServiceError } from '../error.ts'
import { parseJson } from '../json.ts'
import { headerValues, joinedHeader } from './headers.ts'

/** The largest animal that is accepted takes about 12 KiB, fully escaped. */
export const MAX_BODY_BYTES = 64 * 1024

export interface Body {
  /** The parsed body; throws `invalid_request` when it is no JSON. To be called after the headers were judged. */
  parse(): unknown
}

/** Rejects with `unsupported_media_type` or `payload_too_large`, without reading on. An empty body is neither. */
export async function readBody(request: IncomingMessage, response: ServerResponse): Promise<Body> {
  const chunks: Buffer[] = []
  let length = 0

  function accept(chunk: Buffer): void {
    if (length === 0) judgeMediaType(request)
    length += chunk.length
    if (length > MAX_BODY_BYTES) throw tooLarge()
    chunks.push(chunk)
  }

  const declaredLength = Number(headerValues(request, 'content-length')[0] ?? 0)
  if (declaredLength > 0) judgeMediaType(request)
  if (declaredLength > MAX_BODY_BYTES) throw tooLarge()
  if (headerValues(request, 'expect').length > 0 && request.httpVersion === '1.1') response.writeContinue()
  if (!request.readableEnded) await eachChunk(request, accept)
  return { parse: () => parseBody(Buffer.concat(chunks, length)) }
}

/** Not `for await`, which on an early exit would destroy the connection before it was answered. */
function eachChunk(request: IncomingMessage, accept: (chunk: Buffer) => void): Promise<void> {
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

function judgeMediaType(request: IncomingMessage): void {
  const types = headerValues(request, 'content-type')
  if (types.length !== 1 || !types.every(isJson)) {
    throw new ServiceError('unsupported_media_type', 'Content-Type must be application/json, in UTF-8.')
  }
  if ((joinedHeader(request, 'content-encoding') ?? 'identity').toLowerCase() !== 'identity') {
    throw new ServiceError(
      'unsupported_media_type',
      'Content-Encoding must be identity: send the body uncompressed.',
    )
  }
}

function isJson(contentType: string): boolean {
  // What almost everyone sends.
  if (contentType === 'application/json') return true
  try {
    const { essence, params } = new MIMEType(contentType)
    // MIMEType drops an empty parameter and all but the first of several: neither is UTF-8.
    const named = contentType.replaceAll(/"[^"]*"/g, '""').match(/;\s*charset\s*=/gi) ?? []
    const charsets = params.has('charset') ? [params.get('charset')] : []
    return (
      essence === 'application/json' &&
      named.length === charsets.length &&
      charsets.every(charset => /^utf-?8$/i.test(String(charset)))
    )
  } catch {
    return false
  }
}

function parseBody(bytes: Buffer): unknown {
  if (bytes.length === 0) throw invalid('The body is missing: send a JSON object with name and categoryId.')
  if (!isUtf8(bytes)) throw invalid('The body must be UTF-8.')
  try {
    return parseJson(bytes.toString())
  } catch {
    throw invalid('The body must be well-formed JSON.')
  }
}

function tooLarge(): ServiceError {
  return new ServiceError('payload_too_large', `The body must have at most ${MAX_BODY_BYTES} bytes.`)
}

function endedEarly(cause?: Error): ServiceError {
  return new ServiceError('invalid_request', 'The body ended before it was complete.', { cause })
}
