// The headers and refusals that the OpenAPI document describes once and its operations refer to.

import { type ErrorCode, STATUS_OF } from '../error.ts'
import { DEPRECATED_SINCE, REMOVED_AT } from './animals.ts'

export const HEADERS = {
  RequestId: {
    description:
      'The `X-Request-Id` of the request where it had a usable one, else a new one. Quote it when asking for help.',
    schema: { type: 'string', minLength: 1, maxLength: 128 },
  },
  NextPage: {
    description: 'The address of the next page, `rel="next"`. Absent on the last page.',
    schema: { type: 'string', pattern: '^</v1/pets\\?[^>]+>; rel="next"$' },
    example: '</v1/pets?limit=20&after=20>; rel="next"',
  },
  Location: {
    description: 'The address of the animal.',
    schema: { type: 'string', pattern: '^/v1/pets/\\d+$' },
    example: '/v1/pets/1',
  },
  IdempotentReplayed: {
    description: 'Present when this is the answer to an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
  },
  Deprecation: {
    description: 'Since when the operation is deprecated (RFC 9745).',
    schema: { type: 'string', const: DEPRECATED_SINCE },
  },
  Sunset: {
    description: 'When the operation is removed (RFC 8594).',
    schema: { type: 'string', const: REMOVED_AT.toUTCString() },
  },
  DeprecationLinks: {
    description: 'Where the deprecation is documented, and what replaces the operation.',
    schema: { type: 'string', pattern: 'rel="deprecation".*rel="successor-version"' },
  },
  WwwAuthenticate: {
    description: 'How to authenticate (RFC 6750).',
    schema: { type: 'string', pattern: '^Bearer realm="animal-store"(, error="invalid_token")?$' },
  },
  RetryAfter: {
    description: 'Seconds after which to try again.',
    schema: { type: 'integer', minimum: 1 },
  },
}

export const RESPONSES = {
  InvalidRequest: refusal(
    'invalid_request',
    'A part of the request is not acceptable; the message names it.',
    'limit must be a whole number from 1 to 100.',
  ),
  Unauthorized: refusal(
    'unauthorized',
    'The API key is missing or invalid.',
    'A valid API key is required: send it as "Authorization: Bearer <API_KEY>".',
    { 'WWW-Authenticate': header('WwwAuthenticate') },
  ),
  NotFound: refusal('not_found', 'There is no such animal.', 'There is no animal with this id.'),
  RequestTimeout: refusal(
    'request_timeout',
    'The request did not arrive in time.',
    'The request did not arrive in time.',
  ),
  Gone: refusal(
    'gone',
    'The operation has been removed.',
    'This operation was removed on 5 December 2030. Use GET /v1/pets instead.',
  ),
  PayloadTooLarge: refusal(
    'payload_too_large',
    'The body is too large.',
    'The body must have at most 65536 bytes.',
  ),
  UnsupportedMediaType: refusal(
    'unsupported_media_type',
    'The body is not JSON in UTF-8, or is compressed.',
    'Content-Type must be application/json, in UTF-8.',
  ),
  ExpectationFailed: refusal(
    'expectation_failed',
    'The `Expect` header asks for something else than `100-continue`.',
    'The only expectation that can be met is 100-continue.',
  ),
  IdempotencyKeyReused: refusal(
    'idempotency_key_reused',
    'The `Idempotency-Key` was used for another animal.',
    'This Idempotency-Key was used for another animal.',
  ),
  HeadersTooLarge: refusal(
    'headers_too_large',
    'The headers are too large.',
    'The request line and headers must have at most 16 KiB.',
  ),
  InternalError: refusal(
    'internal_error',
    'Something went wrong in the service.',
    'Something went wrong on our side. The request id helps to find it.',
  ),
  Unavailable: refusal(
    'unavailable',
    'The service cannot serve the request right now. With an `Idempotency-Key`, a creation can be repeated safely.',
    'The catalogue cannot be reached right now. Try again shortly.',
    { 'Retry-After': header('RetryAfter') },
  ),
}

export function header(name: keyof typeof HEADERS) {
  return { $ref: `#/components/headers/${name}` }
}

export function response(name: keyof typeof RESPONSES) {
  return { $ref: `#/components/responses/${name}` }
}

function refusal(code: ErrorCode, description: string, message: string, headers: object = {}) {
  return {
    description,
    headers: { 'X-Request-Id': { $ref: '#/components/headers/RequestId' }, ...headers },
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        example: { code, message, status: STATUS_OF[code] },
      },
    },
  }
}
