// The OpenAPI document: everything that a client can send and receive. Limits come from the code that enforces them.

import { NAME_PATTERN, STATUS_NAMES } from '../../animal.ts'
import { KEY_PREFIX, READ_ONLY_PREFIX } from '../../api-key.ts'
import { IDEMPOTENCY_WINDOW_HOURS } from '../../idempotency.ts'
import { INT64_MAX } from '../../int64.ts'
import { formatNumber } from '../../number-format.ts'
import { MAX_EXAMINED, PAGE_LIMIT, SEARCH_MAX_LENGTH } from '../../page.ts'
import { MERGE_PATCH_BODY } from '../server/body.ts'
import { inKib, MAX_BODY_BYTES } from '../server/protocol-errors.ts'
import { TAGS_PATTERN } from './conditions.ts'
import {
  AUTHENTICATED_HEADERS,
  HEADERS,
  header,
  int32,
  int64,
  RESPONSES,
  response,
  SCHEMAS,
  schema,
} from './openapi-components.ts'
import { REMOVAL_DATE } from './operations.ts'
import { IDEMPOTENCY_KEY_MAX_LENGTH, IDEMPOTENCY_KEY_PATTERN } from './parameters.ts'

/** The public base URLs of the two environments. */
export interface BaseUrls {
  readonly production?: string | undefined
  readonly staging?: string | undefined
}

const bella = { id: 1, name: 'Bella', categoryId: 7, status: 'available' }
const momo = { id: 2, name: 'Momo', categoryId: 9007199254740993n }

/** The error responses of every operation. */
const commonErrors = {
  '400': response('InvalidRequest'),
  '401': response('Unauthorized'),
  '408': response('RequestTimeout'),
  '413': response('PayloadTooLarge'),
  '417': response('ExpectationFailed'),
  '429': response('TooManyRequests'),
  '431': response('HeadersTooLarge'),
  '500': response('InternalError'),
  '503': response('Unavailable'),
}

const listPets = {
  operationId: 'listPets',
  summary: 'List animals',
  description: `Animals by ascending id, in pages. \`Link\` has the URL of the next page with \`rel="next"\`, and that of the previous one with \`rel="prev"\`. For the newest animals, send \`before=${INT64_MAX}\`. All filters combine. An unknown query parameter is rejected. A request with \`name\` or \`categoryId\` is a search, which examines at most ${formatNumber(MAX_EXAMINED)} animals (with \`status\`: of that status). So its page may be shorter than \`limit\`, or empty, although more matches follow: follow \`rel="next"\` until there is none.`,
  tags: ['animals'],
  parameters: [
    query('limit', 'Maximum number of animals returned.', { ...int32, ...PAGE_LIMIT }),
    query(
      'status',
      'Keeps only animals with this availability status. Only a list without this filter has animals without a status.',
      schema('Status'),
    ),
    addedIn(
      '1.1',
      query(
        'name',
        `Keeps only animals whose name contains this text, whatever its case and accents: \`zoe\` finds \`Zoë\`. No character is a wildcard. 1 to ${SEARCH_MAX_LENGTH} Unicode code points, not blank, and not only accents.`,
        { type: 'string', minLength: 1, maxLength: SEARCH_MAX_LENGTH, pattern: NAME_PATTERN },
      ),
    ),
    addedIn('1.1', query('categoryId', 'Keeps only animals of this category.', int64)),
    query(
      'after',
      'The first animals with a larger id. For the next page, send the last id of this page; of a search, follow `Link`. Not together with `before`.',
      int64,
    ),
    query(
      'before',
      'The last animals with a smaller id, still by ascending id. For the previous page, send the first id of this page; of a search, follow `Link`. Not together with `after`.',
      int64,
    ),
  ],
  responses: {
    '200': {
      description: 'A page of animals.',
      headers: { ...AUTHENTICATED_HEADERS, Link: header('PageLinks') },
      content: {
        'application/json': {
          schema: { type: 'array', maxItems: PAGE_LIMIT.maximum, items: schema('Animal') },
          example: [bella, momo],
        },
      },
    },
    ...commonErrors,
  },
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description: `Any string of 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} visible ASCII characters, bare or as a quoted string. The quotes and escapes do not count. The same key with the same request gives the first answer again, whatever happened since; with another request, 422.`,
  // The pattern has the limit. A maxLength would be another number, because it counts quotes and escapes.
  schema: { type: 'string', pattern: IDEMPOTENCY_KEY_PATTERN },
}

const createPet = {
  operationId: 'createPet',
  summary: 'Add an animal',
  description: `Adds an animal, and answers once it is on disk. With an \`Idempotency-Key\` the request can be retried safely for ${IDEMPOTENCY_WINDOW_HOURS} hours.`,
  tags: ['animals'],
  parameters: [idempotencyKey],
  requestBody: {
    required: true,
    description: `The new animal, in at most ${inKib(MAX_BODY_BYTES)}.`,
    content: {
      'application/json': {
        schema: schema('NewAnimal'),
        example: { name: 'Bella', categoryId: 7, status: 'available' },
      },
    },
  },
  responses: {
    '201': {
      description:
        'The animal was added, by this request or by an earlier one with the same `Idempotency-Key`.',
      headers: {
        ...AUTHENTICATED_HEADERS,
        Location: header('Location'),
        ETag: header('ETag'),
        'Idempotent-Replayed': header('IdempotentReplayed'),
      },
      content: { 'application/json': { schema: schema('Animal'), example: bella } },
    },
    ...commonErrors,
    '403': response('Forbidden'),
    '415': response('UnsupportedMediaType'),
    '422': response('IdempotencyKeyReused'),
  },
}

const deprecationHeaders = {
  Deprecation: header('Deprecation'),
  Sunset: header('Sunset'),
  Link: header('DeprecationLinks'),
}

const petId = {
  name: 'petId',
  in: 'path',
  required: true,
  description:
    'The identifier of the animal. Any other value than an int64 in plain decimal digits gets 404.',
  schema: int64,
  example: 1,
}

const ifNoneMatch = {
  name: 'If-None-Match',
  in: 'header',
  description:
    '`*`, or entity tags that the animal must not have. Otherwise nothing is done, and the answer is 412.',
  schema: { type: 'string', pattern: TAGS_PATTERN },
}

const conditions = [
  {
    name: 'If-Match',
    in: 'header',
    description:
      '`*`, or entity tags, one of which the animal must have: that of its last `ETag`, for example. Otherwise nothing is done, and the answer is 412. A weak tag (`W/"…"`) never matches.',
    schema: { type: 'string', pattern: TAGS_PATTERN },
  },
  ifNoneMatch,
  query(
    'ifStatus',
    'The status that the animal must have, or `none`. Otherwise nothing is done, and the answer is 409.',
    { type: 'string', enum: STATUS_NAMES },
  ),
]

const updatePet = addedIn('1.2', {
  operationId: 'updatePet',
  summary: 'Change an animal',
  description:
    'Sets the members that are sent, and leaves the others as they are: a JSON Merge Patch (RFC 7396). The condition and the change are one step, so of two clients that sell the same animal with `ifStatus=available`, one gets 409. With an `Idempotency-Key` the request can be retried safely. An empty object changes nothing, and shows the animal as it is now.',
  tags: ['animals'],
  parameters: [petId, ...conditions, idempotencyKey],
  requestBody: {
    required: true,
    description: `The members to change, in at most ${inKib(MAX_BODY_BYTES)}.`,
    content: Object.fromEntries(
      MERGE_PATCH_BODY.mediaTypes.map(type => [
        type,
        { schema: schema('AnimalChanges'), example: { status: 'sold' } },
      ]),
    ),
  },
  responses: {
    '200': {
      description:
        'The animal as it is now, changed by this request or by an earlier one with the same `Idempotency-Key`.',
      headers: {
        ...AUTHENTICATED_HEADERS,
        ETag: header('ETag'),
        'Idempotent-Replayed': header('IdempotentReplayed'),
      },
      content: { 'application/json': { schema: schema('Animal'), example: { ...bella, status: 'sold' } } },
    },
    ...commonErrors,
    '403': response('Forbidden'),
    '404': response('NotFound'),
    '409': response('Conflict'),
    '412': response('PreconditionFailed'),
    '415': RESPONSES.UnsupportedPatch,
    '422': response('IdempotencyKeyReused'),
  },
})

const deletePet = addedIn('1.2', {
  operationId: 'deletePet',
  summary: 'Remove an animal',
  description:
    'Removes the animal for good. A retry with the same `Idempotency-Key` gets 204 again; to one without a key, 404 means that the animal is gone. A body is ignored.',
  tags: ['animals'],
  parameters: [petId, ...conditions, idempotencyKey],
  responses: {
    '204': {
      description:
        'The animal was removed, by this request or by an earlier one with the same `Idempotency-Key`.',
      headers: { ...AUTHENTICATED_HEADERS, 'Idempotent-Replayed': header('IdempotentReplayed') },
    },
    ...commonErrors,
    '403': response('Forbidden'),
    '404': response('NotFound'),
    '409': response('Conflict'),
    '412': response('PreconditionFailed'),
    '422': response('IdempotencyKeyReused'),
  },
})

const getPet = {
  operationId: 'getPet',
  summary: 'Get an animal',
  description: `Will be removed on ${REMOVAL_DATE}; the response is 410 from then on. Use \`GET /v1/pets\` instead: with the \`status\` filter, or with \`limit=1\` and the id minus one as \`after\` to get one animal.`,
  deprecated: true,
  tags: ['animals'],
  parameters: [
    petId,
    addedIn('1.2', {
      ...ifNoneMatch,
      schema: { type: 'string' },
      description:
        'The answer is 304 without a body if the animal has one of these entity tags, or with `*`. A malformed value is ignored.',
    }),
  ],
  responses: {
    '200': {
      description: 'The animal.',
      headers: { ...AUTHENTICATED_HEADERS, ...deprecationHeaders, ETag: header('ETag') },
      content: { 'application/json': { schema: schema('Animal'), example: bella } },
    },
    '304': {
      description: 'The animal has a tag of `If-None-Match`.',
      headers: { ...AUTHENTICATED_HEADERS, ...deprecationHeaders, ETag: header('ETag') },
    },
    ...commonErrors,
    '404': withHeaders(RESPONSES.NotFound, deprecationHeaders),
    '410': withHeaders(RESPONSES.Gone, deprecationHeaders),
    '417': withHeaders(RESPONSES.ExpectationFailed, deprecationHeaders),
    '429': withHeaders(RESPONSES.TooManyRequests, deprecationHeaders),
    '500': withHeaders(RESPONSES.InternalError, deprecationHeaders),
    '503': withHeaders(RESPONSES.Unavailable, deprecationHeaders),
  },
}

const getInventory = addedIn('1.1', {
  operationId: 'getInventory',
  summary: 'Count animals by status',
  description:
    'How many animals there are with each status, and how many without one. Exact: every creation, change and removal that was acknowledged before the request counts. It costs as little as getting one animal, however many there are.',
  tags: ['animals'],
  parameters: [],
  responses: {
    '200': {
      description: 'The number of animals by status.',
      headers: AUTHENTICATED_HEADERS,
      content: {
        'application/json': {
          schema: schema('Inventory'),
          example: { available: 702, pending: 210, sold: 180, none: 112 },
        },
      },
    },
    ...commonErrors,
  },
})

export function openApiDocument({ production, staging }: BaseUrls) {
  const { Gone, UnsupportedPatch, ...shared } = RESPONSES
  return {
    openapi: '3.1.0',
    info: {
      title: 'Animal Store',
      version: '1.0.0',
      summary: "A store's catalogue of animals.",
      description:
        'List and search animals, add, change and remove one, fetch one, count them. Every request needs an API key as a bearer token. HEAD is answered like GET, without the body. Ids are int64 and exact: do not read or write them as doubles. `x-added-in` marks what the service has added since its version 1.0.',
      license: { name: 'MIT', identifier: 'MIT' },
      contact: { name: 'The Animal Store maintainers' },
    },
    servers: [
      ...(production === undefined ? [] : [{ url: production, description: 'Production' }]),
      ...(staging === undefined ? [] : [{ url: staging, description: 'Staging' }]),
    ],
    tags: [{ name: 'animals', description: 'The catalogue of animals.' }],
    security: [{ apiKey: [] }],
    paths: {
      '/pets': { get: listPets, post: createPet },
      '/store/inventory': { get: getInventory },
      '/pets/{petId}': { patch: updatePet, delete: deletePet, get: getPet },
    },
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: `An API key: \`${KEY_PREFIX.production}…\` in production, \`${KEY_PREFIX.staging}…\` in staging. One that begins with \`${READ_ONLY_PREFIX.production}\` or \`${READ_ONLY_PREFIX.staging}\` may only read.`,
        },
      },
      schemas: SCHEMAS,
      headers: HEADERS,
      responses: shared,
    },
  }
}

/** Marks what a client of version 1.0 of the service does not know. */
function addedIn<Described extends object>(version: string, described: Described) {
  return { ...described, 'x-added-in': version }
}

function query(name: string, description: string, schema: object) {
  return { name, in: 'query', description, schema }
}

function withHeaders<Response extends { headers: object }>(described: Response, headers: object) {
  return { ...described, headers: { ...described.headers, ...headers } }
}
