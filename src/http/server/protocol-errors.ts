// The errors of HTTP itself, one function for each, and the limits that they name. The OpenAPI document takes its examples
// from here.

import { invalid, ServiceError } from '../../error.ts'

export const MAX_HEADER_BYTES = 16 * 1024

/** Several times what the largest body that the API accepts takes, with every character escaped. */
export const MAX_BODY_BYTES = 64 * 1024

/** Node.js enforces this limit itself. */
const MAX_CHUNK_EXTENSION_BYTES = 16 * 1024

export const TIMEOUT_CODE = 'ERR_HTTP_REQUEST_TIMEOUT'

export function inKib(bytes: number): string {
  return `${bytes / 1024} KiB`
}

export const notFound = () => new ServiceError('not_found', 'There is nothing at this path.')

/** `allow` lists the methods that the path has. */
export const methodNotAllowed = (allow: string) =>
  new ServiceError('method_not_allowed', `This path supports ${allow} only.`, { headers: ['allow', allow] })

export const requestTimeout = () => new ServiceError('request_timeout', 'The request did not arrive in time.')

export const bodyTooLarge = () =>
  new ServiceError('payload_too_large', `The body must be at most ${inKib(MAX_BODY_BYTES)}.`)

const chunkExtensionsTooLarge = () =>
  new ServiceError(
    'payload_too_large',
    `The chunk extensions must be at most ${inKib(MAX_CHUNK_EXTENSION_BYTES)}.`,
  )

export const unsupportedMediaType = () =>
  new ServiceError('unsupported_media_type', 'Content-Type must be application/json, in UTF-8.')

const PATCH_TYPES = 'application/merge-patch+json, application/json'

export const unsupportedPatch = () =>
  new ServiceError('unsupported_media_type', `Content-Type must be one of ${PATCH_TYPES}, in UTF-8.`, {
    headers: ['accept-patch', PATCH_TYPES],
  })

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

/** Takes the error with which Node's HTTP parser rejected a request. */
export function fromParserError({ code }: NodeJS.ErrnoException): ServiceError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return headersTooLarge()
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return chunkExtensionsTooLarge()
    case TIMEOUT_CODE:
      return requestTimeout()
    case 'HPE_INVALID_URL':
      return invalid('The URL has a character that must be percent-encoded, such as a letter outside ASCII.')
    default:
      return invalid('The request is not well-formed HTTP/1.1.')
  }
}
