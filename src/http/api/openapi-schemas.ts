// The schemas of the OpenAPI document. Limits come from the code that enforces them.

import { NAME_MAX_LENGTH, NAME_PATTERN, STATUSES } from '../../animal.ts'
import { STATUS_OF } from '../../error.ts'
import { INT64_MAX, INT64_MIN } from '../../json.ts'

export const int32 = { type: 'integer', format: 'int32' }
export const int64 = { type: 'integer', format: 'int64', minimum: INT64_MIN, maximum: INT64_MAX }

const KNOWN_CODES = Object.entries(STATUS_OF)
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
  Status: {
    type: 'string',
    enum: STATUSES,
    description: 'Availability. An animal that was added without a status has none.',
    examples: ['available'],
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
