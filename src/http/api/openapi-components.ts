// The headers and error responses that the operations of the OpenAPI document refer to.

import { type ServiceError, unavailable } from '../../error.ts'
import {
  bodyTooLarge,
  expectationFailed,
  headersTooLarge,
  internalError,
  requestTimeout,
  unsupportedMediaType,
} from '../server/protocol-errors.ts'
import { unauthorized } from './authentication.ts'
import { int32, schema } from './openapi-schemas.ts'
import { animalNotFound, DEPRECATED_SINCE, gone, idempotencyKeyReused, REMOVED_AT } from './operations.ts'
import { invalidLimit } from './parameters.ts'
import { rateLimited } from './rate-limit.ts'

/** The path of the public base URL. */
const PATH = '(/[^>]*)?/v1'

export const HEADERS = {
  RequestId: {
    description:
      'The `X-Request-Id` of the request if it had a usable one, otherwise a new one. Quote it when you ask for help.',
    schema: { type: 'string', minLength: 1, maxLength: 128 },
  },
  CacheControl: {
    description: 'No cache may store the response.',
    schema: { type: 'string', const: 'no-store' },
  },
  ContentTypeOptions: {
    description: 'A browser must not guess another media type.',
    schema: { type: 'string', const: 'nosniff' },
  },
  PageLinks: {
    description:
      'The URL of the previous page with `rel="prev"` if an animal precedes this page, and that of the next page with `rel="next"` if one follows. Absent if neither does, and on an empty page.',
    schema: {
      type: 'string',
      pattern: `^<${PATH}/pets\\?[^>]+>; rel="(prev|next)"(, <${PATH}/pets\\?[^>]+>; rel="next")?$`,
    },
    example: '</v1/pets?limit=20&before=21>; rel="prev", </v1/pets?limit=20&after=40>; rel="next"',
  },
  Location: {
    description: 'The URL of the animal.',
    schema: { type: 'string', pattern: `^${PATH}/pets/-?\\d+$` },
    example: '/v1/pets/1',
  },
  IdempotentReplayed: {
    description: 'Present if this is the answer to an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
  },
  Deprecation: {
    description: 'The date since which the operation is deprecated (RFC 9745).',
    schema: { type: 'string', const: DEPRECATED_SINCE },
  },
  Sunset: {
    description: 'When the operation will be removed (RFC 8594).',
    schema: { type: 'string', const: REMOVED_AT.toUTCString() },
  },
  DeprecationLinks: {
    description: 'The documentation of the deprecation, and the operation that replaces this one.',
    schema: { type: 'string', pattern: 'rel="deprecation".*rel="successor-version"' },
  },
  WwwAuthenticate: {
    description: 'How to authenticate (RFC 6750).',
    schema: { type: 'string', pattern: '^Bearer realm="animal-store"(, error="invalid_token")?$' },
  },
  RateLimitPolicy: {
    description: 'The limit of this API key: `q` requests in `w` seconds. Absent if there is no limit.',
    schema: { type: 'string', pattern: '^"key";q=\\d+;w=\\d+$' },
    example: '"key";q=600;w=60',
  },
  RateLimit: {
    description:
      'What this API key has left: `r` requests now, and all of them again after `t` seconds. Absent if there is no limit.',
    schema: { type: 'string', pattern: '^"key";r=\\d+;t=\\d+$' },
    example: '"key";r=599;t=1',
  },
  RetryAfter: {
    description: 'Seconds to wait before a retry.',
    schema: { ...int32, minimum: 1 },
  },
}

/** The headers of every response. */
export const COMMON_HEADERS = {
  'X-Request-Id': header('RequestId'),
  'Cache-Control': header('CacheControl'),
  'X-Content-Type-Options': header('ContentTypeOptions'),
}

/** The headers of every response to a valid API key. */
export const AUTHENTICATED_HEADERS = {
  ...COMMON_HEADERS,
  'RateLimit-Policy': header('RateLimitPolicy'),
  RateLimit: header('RateLimit'),
}

export const RESPONSES = {
  InvalidRequest: errorResponse(
    invalidLimit(),
    'A part of the request is missing or invalid; the message names it.',
  ),
  Unauthorized: errorResponse(
    unauthorized(false),
    'The API key is missing or invalid.',
    { 'WWW-Authenticate': header('WwwAuthenticate') },
    COMMON_HEADERS,
  ),
  NotFound: errorResponse(animalNotFound(), 'There is no such animal.'),
  RequestTimeout: errorResponse(requestTimeout(), 'The request did not arrive in time.'),
  Gone: errorResponse(gone(), 'The operation has been removed.'),
  PayloadTooLarge: errorResponse(bodyTooLarge(), 'The body is too large.'),
  UnsupportedMediaType: errorResponse(
    unsupportedMediaType(),
    '`Content-Type` is not `application/json` in UTF-8, or the body is compressed.',
  ),
  ExpectationFailed: errorResponse(
    expectationFailed(),
    'The `Expect` header has a value other than `100-continue`.',
  ),
  IdempotencyKeyReused: errorResponse(
    idempotencyKeyReused(),
    'The `Idempotency-Key` was used for another animal.',
  ),
  TooManyRequests: errorResponse(
    rateLimited(1),
    'The API key has sent more requests than its limit allows. Nothing was stored.',
    { 'Retry-After': header('RetryAfter') },
  ),
  HeadersTooLarge: errorResponse(headersTooLarge(), 'The headers are too large.', {}, COMMON_HEADERS),
  InternalError: errorResponse(internalError(undefined), 'Something went wrong in the service.'),
  Unavailable: errorResponse(
    unavailable(),
    'The service cannot serve the request right now. With an `Idempotency-Key`, a creation can be retried safely.',
    { 'Retry-After': header('RetryAfter') },
  ),
}

export function header(name: keyof typeof HEADERS) {
  return { $ref: `#/components/headers/${name}` }
}

export function response(name: keyof typeof RESPONSES) {
  return { $ref: `#/components/responses/${name}` }
}

function errorResponse(
  { code, message, status }: ServiceError,
  description: string,
  headers: object = {},
  commonHeaders: object = AUTHENTICATED_HEADERS,
) {
  return {
    description,
    headers: { ...commonHeaders, ...headers },
    content: { 'application/json': { schema: schema('ErrorObject'), example: { code, message, status } } },
  }
}
