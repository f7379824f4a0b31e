// The errors of HTTP itself, one function for each. The OpenAPI document takes its examples from here.

import { ServiceError } from '../../error.ts'
import { inKib, MAX_BODY_BYTES, MAX_CHUNK_EXTENSION_BYTES, MAX_HEADER_BYTES } from './limits.ts'

export const notFound = () => new ServiceError('not_found', 'There is nothing at this path.')

/** `allow` lists the methods that the path has. */
export const methodNotAllowed = (allow: string) =>
  new ServiceError('method_not_allowed', `This path supports ${allow} only.`, { headers: ['allow', allow] })

export const requestTimeout = () => new ServiceError('request_timeout', 'The request did not arrive in time.')

export const bodyTooLarge = () =>
  new ServiceError('payload_too_large', `The body must be at most ${inKib(MAX_BODY_BYTES)}.`)

export const chunkExtensionsTooLarge = () =>
  new ServiceError(
    'payload_too_large',
    `The chunk extensions must be at most ${inKib(MAX_CHUNK_EXTENSION_BYTES)}.`,
  )

export const unsupportedMediaType = () =>
  new ServiceError('unsupported_media_type', 'Content-Type must be application/json, in UTF-8.')

export const unsupportedEncoding = () =>
  new ServiceError('unsupported_media_type', 'Content-Encoding must be identity: send the body uncompressed.')

export const expectationFailed = () =>
  new ServiceError('expectation_failed', 'The only Expect header that is supported is 100-continue.')

export const headersTooLarge = () =>
  new ServiceError(
    'headers_too_large',
    `The request line and the headers must be at most ${inKib(MAX_HEADER_BYTES)}.`,
  )

export const internalError = (cause: unknown) =>
  new ServiceError('internal_error', 'Something went wrong on our side. Quote the request id to get help.', {
    cause,
  })
