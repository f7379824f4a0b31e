// The OpenAPI document: everything a client can send and be sent. Its limits come from where they are enforced.

import { NAME_MAX_LENGTH, NAME_PATTERN, STATUSES } from '../animal.ts'
import { STATUS_OF } from '../error.ts'
import { INT64_MAX, INT64_MIN } from '../json.ts'
import { IDEMPOTENCY_KEY_PATTERN } from './idempotency-key.ts'
import { LIMIT } from './list-query.ts'
import { HEADERS, header, RESPONSES, response } from './openapi-responses.ts'

export interface Addresses {
  readonly production?: string | undefined
  readonly staging?: string | undefined
}

const int64 = { type: 'integer', format: 'int64', minimum: INT64_MIN, maximum: INT64_MAX }

const newAnimalProperties = {
  name: {
    type: 'string',
    minLength: 1,
    maxLength: NAME_MAX_LENGTH,
    pattern: NAME_PATTERN,
    description:
      "The animal's name: 1 to 1,000 Unicode code points, not blank, without U+0000 and without lone surrogates. Kept exactly as sent.",
    examples: ['Bella'],
  },
  categoryId: {
    ...int64,
    description: 'Identifier of the category the animal belongs to. Exact over the whole range of int64.',
    examples: [7],
  },
  status: { $ref: '#/components/schemas/Status' },
}

const schemas = {
  Animal: {
    type: 'object',
    description: 'An animal of the catalogue.',
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
  Status: {
    type: 'string',
    enum: STATUSES,
    description: 'Availability. An animal that was added without one has none.',
    examples: ['available'],
  },
  Error: {
    type: 'object',
    description: 'What every response of 400 and above carries.',
    required: ['code', 'message', 'status'],
    properties: {
      code: { type: 'string', enum: Object.keys(STATUS_OF), description: 'Machine-readable error code.' },
      message: { type: 'string', description: 'Human-readable description.' },
      status: {
        type: 'integer',
        minimum: 400,
        maximum: 599,
        description: 'The HTTP status code of the response.',
      },
    },
    additionalProperties: false,
  },
}

const bella = { id: 1, name: 'Bella', categoryId: 7, status: 'available' }
const momo = { id: 2, name: 'Momo', categoryId: 9007199254740993n }

/** What any request can meet, whichever operation it asks for. */
const anywhere = {
  '400': response('InvalidRequest'),
  '401': response('Unauthorized'),
  '408': response('RequestTimeout'),
  '413': response('PayloadTooLarge'),
  '417': response('ExpectationFailed'),
  '431': response('HeadersTooLarge'),
  '500': response('InternalError'),
  '503': response('Unavailable'),
}

const listPets = {
  operationId: 'listPets',
  summary: 'List animals',
  description:
    'Animals by ascending id, in pages. While another page follows, `Link` gives its address with `rel="next"`. An unknown query parameter is refused.',
  tags: ['pets'],
  parameters: [
    {
      name: 'limit',
      in: 'query',
      description: 'Maximum number of animals returned.',
      schema: { type: 'integer', ...LIMIT },
    },
    {
      name: 'status',
      in: 'query',
      description: 'Keeps only animals with this availability status.',
      schema: { $ref: '#/components/schemas/Status' },
    },
    {
      name: 'after',
      in: 'query',
      description: 'Only animals with a larger id than this: the last id of the page before.',
      schema: int64,
    },
  ],
  responses: {
    '200': {
      description: 'A page of animals.',
      headers: { 'X-Request-Id': header('RequestId'), Link: header('NextPage') },
      content: {
        'application/json': {
          schema: { type: 'array', maxItems: LIMIT.maximum, items: { $ref: '#/components/schemas/Animal' } },
          example: [bella, momo],
        },
      },
    },
    ...anywhere,
  },
}

const createPet = {
  operationId: 'createPet',
  summary: 'Add an animal',
  description:
    'Adds an animal, and answers once it is on disk. With an `Idempotency-Key` the request can be repeated safely for 24 hours.',
  tags: ['pets'],
  parameters: [
    {
      name: 'Idempotency-Key',
      in: 'header',
      description:
        'Any string of 1 to 255 visible ASCII characters, bare or as a quoted string. The same key with the same animal gives the first answer again; with another animal, 422.',
      schema: { type: 'string', pattern: IDEMPOTENCY_KEY_PATTERN },
      example: '6b1c5a0e-4d53-4f0e-9d51-0d3f6a3c2b11',
    },
  ],
  requestBody: {
    required: true,
    description: 'The new animal, in at most 64 KiB.',
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/NewAnimal' },
        example: { name: 'Bella', categoryId: 7, status: 'available' },
      },
    },
  },
  responses: {
    '201': {
      description: 'The animal was added, or had been by an earlier request with the same `Idempotency-Key`.',
      headers: {
        'X-Request-Id': header('RequestId'),
        Location: header('Location'),
        'Idempotent-Replayed': header('IdempotentReplayed'),
      },
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Animal' }, example: bella } },
    },
    ...anywhere,
    '415': response('UnsupportedMediaType'),
    '422': response('IdempotencyKeyReused'),
  },
}

const deprecationHeaders = {
  Deprecation: header('Deprecation'),
  Sunset: header('Sunset'),
  Link: header('DeprecationLinks'),
}

const getPet = {
  operationId: 'getPet',
  summary: 'Get an animal',
  description:
    'Removed on 5 December 2030, and answers 410 from then on. Use `GET /pets` with the `status` filter instead.',
  deprecated: true,
  tags: ['pets'],
  parameters: [
    {
      name: 'petId',
      in: 'path',
      required: true,
      description:
        'The identifier of the animal. Anything that is no int64 in plain decimal digits names no animal.',
      schema: int64,
    },
  ],
  responses: {
    '200': {
      description: 'The animal.',
      headers: { 'X-Request-Id': header('RequestId'), ...deprecationHeaders },
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Animal' }, example: bella } },
    },
    ...anywhere,
    '404': withHeaders(RESPONSES.NotFound, deprecationHeaders),
    '410': withHeaders(RESPONSES.Gone, deprecationHeaders),
    '417': withHeaders(RESPONSES.ExpectationFailed, deprecationHeaders),
    '500': withHeaders(RESPONSES.InternalError, deprecationHeaders),
    '503': withHeaders(RESPONSES.Unavailable, deprecationHeaders),
  },
}

export function openApiDocument({ production, staging }: Addresses) {
  const { NotFound, Gone, ...shared } = RESPONSES
  return {
    openapi: '3.1.0',
    info: {
      title: 'Animal Store',
      version: '1.0.0',
      summary: "A store's catalogue of animals.",
      description:
        'List animals, add one, fetch one. Every request needs an API key as a bearer token. Wherever GET is answered, HEAD is answered alike, without the body. Integers are int64 and exact: read and write them without going through a double.',
      license: { name: 'MIT', identifier: 'MIT' },
      contact: { name: 'The Animal Store maintainers' },
    },
    servers: [
      ...(production === undefined ? [] : [{ url: production, description: 'Production' }]),
      ...(staging === undefined ? [] : [{ url: staging, description: 'Staging' }]),
    ],
    tags: [{ name: 'pets', description: 'The catalogue of animals.' }],
    security: [{ apiKey: [] }],
    paths: {
      '/pets': { get: listPets, post: createPet },
      '/pets/{petId}': { get: getPet },
    },
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key: `as_live_…` in production, `as_test_…` in staging.',
        },
      },
      schemas,
      headers: HEADERS,
      responses: shared,
    },
  }
}

function withHeaders<Response extends { headers: object }>(described: Response, headers: object) {
  return { ...described, headers: { ...described.headers, ...headers } }
}
