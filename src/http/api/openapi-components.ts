// The schemas, headers and error responses that the operations of the OpenAPI document refer to. Limits come from the code
// that enforces them.

import { NAME_MAX_LENGTH, NAME_PATTERN, STATUSES } from '../../animal.ts'
import { HTTP_STATUS_OF, type ServiceError, unavailable } from '../../error.ts'
import { renderTag, TAG_DIGITS, tagOf } from '../../etag.ts'
import { INT64_MAX, INT64_MIN } from '../../int64.ts'
import {
  bodyTooLarge,
  expectationFailed,
  headersTooLarge,
  internalError,
  requestTimeout,
  unsupportedMediaType,
  unsupportedPatch,
} from '../server/protocol-errors.ts'
import {
  animalNotFound,
  gone,
  idempotencyKeyReused,
  preconditionFailed,
  statusConflict,
} from './api-errors.ts'
import { forbidden, unauthorized } from './authentication.ts'
import { DEPRECATED_SINCE, REMOVED_AT } from './operations.ts'
import { invalidLimit } from './parameters.ts'
import { rateLimited } from './rate-limit.ts'

export const int32 = { type: 'integer', format: 'int32' }
export const int64 = { type: 'integer', format: 'int64', minimum: INT64_MIN, maximum: INT64_MAX }

const count = { ...int64, minimum: 0 }

const KNOWN_CODES = Object.entries(HTTP_STATUS_OF)
  .map(([code, status]) => `\`${code}\` (${status})`)
  .join(', ')

const newAnimalProperties = {
  name: {
    type: 'string',
    minLength: 1,
    maxLength: NAME_MAX_LENGTH,
    pattern: NAME_PATTERN,
    description: `The animal's name: 1 to ${NAME_MAX_LENGTH} Unicode code points, not blank, without U+0000 and without lone surrogates. Stored exactly as sent.`,
    examples: ['Bella'],
  },
  categoryId: {
    ...int64,
    description: 'Identifier of the category the animal belongs to. Exact over the whole range of int64.',
    examples: [7],
  },
  status: { $ref: '#/components/schemas/Status' },
}

export const SCHEMAS = {
  Animal: {
    type: 'object',
    description: 'An animal of the catalogue. Further members may be added.',
    required: ['id', 'name', 'categoryId'],
    properties: {
      id: { ...int64, description: 'Unique identifier assigned on creation.', examples: [1] },
      ...newAnimalProperties,
    },
  },
  NewAnimal: {
    type: 'object',
    description: 'An animal to add. Unknown members, `id` included, are ignored.',
    required: ['name', 'categoryId'],
    properties: newAnimalProperties,
  },
  AnimalChanges: {
    type: 'object',
    description:
      'The members to change (JSON Merge Patch). One that is absent stays as it is. Any other member is rejected.',
    additionalProperties: false,
    properties: {
      id: { ...int64, description: 'May be sent if it is the id in the path.' },
      name: newAnimalProperties.name,
      categoryId: newAnimalProperties.categoryId,
      status: {
        type: ['string', 'null'],
        enum: [...STATUSES, null],
        description: 'Availability. `null` takes the status away.',
        examples: ['sold'],
      },
    },
  },
  Status: {
    type: 'string',
    enum: STATUSES,
    description: 'Availability. An animal that was added without a status has none.',
    examples: ['available'],
  },
  Inventory: {
    type: 'object',
    description: 'How many animals there are by status. Further members may be added.',
    required: ['available', 'pending', 'sold', 'none'],
    properties: {
      available: { ...count, description: 'Animals with the status `available`.', examples: [702] },
      pending: { ...count, description: 'Animals with the status `pending`.', examples: [210] },
      sold: { ...count, description: 'Animals with the status `sold`.', examples: [180] },
      none: { ...count, description: 'Animals without a status.', examples: [112] },
    },
  },
  // Not `Error` or `Response`: generated code would hide the global class of that name.
  ErrorObject: {
    type: 'object',
    description: 'The body of every response of 400 and above. Further members may be added.',
    required: ['code', 'message', 'status'],
    properties: {
      code: { $ref: '#/components/schemas/ErrorCode' },
      message: { type: 'string', description: 'Human-readable description.' },
      status: {
        ...int32,
        minimum: 400,
        maximum: 599,
        description: 'The HTTP status code of the response.',
      },
    },
  },
  // Not an enum: a client with a closed list would fail on a code that is added later.
  ErrorCode: {
    type: 'string',
    description: `Machine-readable error code. Further ones may be added. Known codes: ${KNOWN_CODES}.`,
    examples: ['invalid_request'],
  },
}

export function schema(name: keyof typeof SCHEMAS) {
  return { $ref: `#/components/schemas/${name}` }
}

/** The path of the public base URL. */
const PATH = '(/[^>]*)?/v1'

export const HEADERS = {
  RequestId: textHeader(
    'The `X-Request-Id` of the request if it had a usable one, otherwise a new one. Quote it when you ask for help.',
    { minLength: 1, maxLength: 128 },
  ),
  CacheControl: textHeader('No cache may store the response.', { const: 'no-store' }),
  ContentTypeOptions: textHeader('A browser must not guess another media type.', { const: 'nosniff' }),
  PageLinks: textHeader(
    'The URL of the previous page with `rel="prev"` if an animal precedes this page, and that of the next page with `rel="next"` if one follows. Absent if neither does, and on an empty page. For a search, the links lead beyond what it has examined, so an empty page may have them.',
    { pattern: `^<${PATH}/pets\\?[^>]+>; rel="(prev|next)"(, <${PATH}/pets\\?[^>]+>; rel="next")?$` },
    '</v1/pets?limit=20&before=21>; rel="prev", </v1/pets?limit=20&after=40>; rel="next"',
  ),
  Location: textHeader('The URL of the animal.', { pattern: `^${PATH}/pets/-?\\d+$` }, '/v1/pets/1'),
  ETag: textHeader(
    'The entity tag of the animal: a digest of it. The same state always has the same tag, and different states never share one.',
    { pattern: `^"[0-9a-f]{${TAG_DIGITS}}"$` },
    renderTag(tagOf('{"id":1,"name":"Bella","categoryId":7,"status":"available"}')),
  ),
  AcceptPatch: textHeader('The media types that a change may have.', {
    const: unsupportedPatch().headers[1] ?? '',
  }),
  IdempotentReplayed: textHeader(
    'Present if this is the answer to an earlier request with the same `Idempotency-Key`.',
    { const: 'true' },
  ),
  Deprecation: textHeader('The date since which the operation is deprecated (RFC 9745).', {
    const: DEPRECATED_SINCE,
  }),
  Sunset: textHeader('When the operation will be removed (RFC 8594).', { const: REMOVED_AT.toUTCString() }),
  DeprecationLinks: textHeader(
    'The documentation of the deprecation, and the operation that replaces this one.',
    { pattern: 'rel="deprecation".*rel="successor-version"' },
  ),
  WwwAuthenticate: textHeader('How to authenticate (RFC 6750).', {
    pattern: '^Bearer realm="animal-store"(, error="(invalid_token|insufficient_scope)")?$',
  }),
  RateLimitPolicy: textHeader(
    'The limit of this API key: `q` requests in `w` seconds. Absent if there is no limit.',
    { pattern: '^"key";q=\\d+;w=\\d+$' },
    '"key";q=600;w=60',
  ),
  RateLimit: textHeader(
    'What this API key has left: `r` requests now, and all of them again after `t` seconds. Absent if there is no limit.',
    { pattern: '^"key";r=\\d+;t=\\d+$' },
    '"key";r=599;t=1',
  ),
  RetryAfter: { description: 'Seconds to wait before a retry.', schema: { ...int32, minimum: 1 } },
}

/** The headers of every response. */
const COMMON_HEADERS = {
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
  Forbidden: errorResponse(forbidden(), 'The API key may only read. Nothing was stored.', {
    'WWW-Authenticate': header('WwwAuthenticate'),
  }),
  NotFound: errorResponse(animalNotFound(), 'There is no such animal.'),
  RequestTimeout: errorResponse(requestTimeout(), 'The request did not arrive in time.'),
  Gone: errorResponse(gone(), 'The operation has been removed.'),
  PayloadTooLarge: errorResponse(bodyTooLarge(), 'The body is too large.'),
  UnsupportedMediaType: errorResponse(
    unsupportedMediaType(),
    '`Content-Type` is not `application/json` in UTF-8, or the body is compressed.',
  ),
  UnsupportedPatch: errorResponse(
    unsupportedPatch(),
    '`Content-Type` is not `application/merge-patch+json` or `application/json` in UTF-8, or the body is compressed.',
    { 'Accept-Patch': header('AcceptPatch') },
  ),
  Conflict: errorResponse(
    statusConflict('sold'),
    'The animal has another status than `ifStatus`; the message names it. Nothing was done.',
  ),
  PreconditionFailed: errorResponse(
    preconditionFailed(),
    'The entity tag of the animal is not one that `If-Match` or `If-None-Match` allows. Nothing was done.',
  ),
  ExpectationFailed: errorResponse(
    expectationFailed(),
    'The `Expect` header has a value other than `100-continue`.',
  ),
  IdempotencyKeyReused: errorResponse(
    idempotencyKeyReused(),
    'The `Idempotency-Key` was used for another request.',
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
    'The service cannot serve the request right now. With an `Idempotency-Key`, a creation, change or removal can be retried safely.',
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

function textHeader(description: string, limits: object, example?: string) {
  return { description, schema: { type: 'string', ...limits }, ...(example && { example }) }
}
