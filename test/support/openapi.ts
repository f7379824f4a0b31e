// Checks responses against the OpenAPI document: those that the HTTP client of the tests (service.ts) receives.

import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { HTTP_STATUS_OF } from '../../src/error.ts'
import { openApiDocument } from '../../src/http/api/openapi-document.ts'
import { exactInteger, renderJson } from '../../src/json.ts'

interface Described {
  readonly $ref?: string
  readonly headers?: Record<string, { $ref?: string; schema?: object }>
  readonly content?: Record<string, { schema: object }>
}

interface PlainDocument {
  readonly paths: Record<string, Record<string, { responses: Record<string, Described> }>>
  readonly components: {
    readonly headers: Record<string, { schema: object }>
    readonly responses: Record<string, Described>
  }
}

/** The document as any tool reads it: parsed as JSON, with integers as doubles. */
const plainDocument: PlainDocument = JSON.parse(
  renderJson(openApiDocument({ production: 'http://127.0.0.1/v1' })),
)

// The schemas are not validated here, because that takes 50 ms. openapi.test.ts validates them.
const ajv = new Ajv2020({ strict: true, allErrors: true, coerceTypes: false, validateSchema: false })
ajv.addFormat('int64', { type: 'number', validate: Number.isInteger })
ajv.addFormat('int32', { type: 'number', validate: Number.isInteger })
ajv.addVocabulary(['openapi', 'info', 'servers', 'tags', 'security', 'paths', 'components', 'example'])
ajv.addSchema(plainDocument, 'openapi')

const validators = new Map<string, ValidateFunction>()

/** Returns a validator for the schema at this JSON pointer in the document. */
export function schemaAt(pointer: string): ValidateFunction {
  const known = validators.get(pointer)
  if (known) return known
  const validate = ajv.compile({ $ref: `openapi#${pointer}` })
  validators.set(pointer, validate)
  return validate
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** On a path or method that is not in the document, only the common headers and the error object are checked. */
export function assertDescribed(method: string, target: string, answer: Answer): void {
  const { status, headers, text } = answer
  const place = `${method} ${target.slice(0, 80)} → ${status}`
  assert.match(headers['x-request-id'] as string, /^[!-~]{1,128}$/, `${place}: no X-Request-Id`)
  assert.equal(headers['cache-control'], isDocument(target, status) ? 'no-cache' : 'no-store', place)
  assert.equal(headers['x-content-type-options'], 'nosniff', place)
  if (!isDocument(target, status))
    assert.equal(headers['content-security-policy'], "default-src 'none'; frame-ancestors 'none'", place)
  if (status >= 400) assertErrorObject(place, method, answer)
  const operation = operationAt(method, target)
  if (operation === undefined) return
  const described = operation.responses[status]
  if (described === undefined) {
    assert.fail(`${place}: the document has no such response`)
  }
  const { pointer, response } = resolveResponse(operation.pointer, String(status), described)
  assertHeaders(place, headers, response)
  if (method === 'HEAD' || response.content === undefined) {
    assert.equal(text, '', `${place}: it has a body`)
    return
  }
  assert.equal(headers['content-type'], 'application/json', place)
  const validate = schemaAt(`${pointer}/content/application~1json/schema`)
  assert.ok(
    validate(JSON.parse(text)),
    `${place}: ${ajv.errorsText(validate.errors)} in ${text.slice(0, 300)}`,
  )
  for (const [, digits = ''] of text.matchAll(/"(?:id|categoryId)":([^,}]+)/g)) {
    assert.notEqual(exactInteger(digits), undefined, `${place}: ${digits} is no int64`)
  }
}

/** If the response has one of the headers below, the document must describe the header for this response. */
function assertHeaders(place: string, headers: IncomingHttpHeaders, response: Described): void {
  const described = new Map(
    Object.entries(response.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const ours = [
    'link',
    'location',
    'etag',
    'accept-patch',
    'idempotent-replayed',
    'deprecation',
    'sunset',
    'www-authenticate',
    'retry-after',
    'ratelimit-policy',
    'ratelimit',
  ]
  for (const name of [...ours, 'allow', 'x-request-id', 'cache-control', 'x-content-type-options']) {
    const value = headers[name]
    if (value === undefined) continue
    const reference = described.get(name)
    assert.ok(reference?.$ref, `${place}: the header ${name} is not in the document`)
    const validate = schemaAt(`${reference.$ref.slice(1)}/schema`)
    const read = name === 'retry-after' ? Number(value) : value
    assert.ok(validate(read), `${place}: ${name} is ${value}: ${ajv.errorsText(validate.errors)}`)
  }
}

function assertErrorObject(place: string, method: string, { status, headers, text }: Answer): void {
  assert.equal(headers['content-type'], 'application/json', place)
  if (method === 'HEAD') return
  const validate = schemaAt('/components/schemas/ErrorObject')
  const error: Record<string, unknown> = JSON.parse(text)
  assert.ok(validate(error), `${place}: ${ajv.errorsText(validate.errors)} in ${text}`)
  assert.equal(error.status, status, `${place}: status is not that of the response`)
  assert.equal(
    HTTP_STATUS_OF[error.code as keyof typeof HTTP_STATUS_OF],
    status,
    `${place}: code is ${error.code}`,
  )
  assert.equal(status === 401 || status === 403, headers['www-authenticate'] !== undefined, place)
  assert.equal(status === 405, headers.allow !== undefined, place)
  assert.equal(status === 429 || status === 503, headers['retry-after'] !== undefined, place)
}

function isDocument(target: string, status: number): boolean {
  return status < 400 && !/^\/(v1|livez|readyz)(?=[/?]|$)/.test(target)
}

function operationAt(method: string, target: string) {
  const path = target.split('?', 1)[0] ?? ''
  const template =
    path === '/v1/pets' ? '/pets' : /^\/v1\/pets\/[^/]+$/.test(path) ? '/pets/{petId}' : undefined
  const key = method === 'HEAD' ? 'get' : method.toLowerCase()
  const operation = template && plainDocument.paths[template]?.[key]
  return operation && { ...operation, pointer: `/paths/${template.replaceAll('/', '~1')}/${key}` }
}

function resolveResponse(operationPointer: string, status: string, described: Described) {
  if (described.$ref === undefined) {
    return { pointer: `${operationPointer}/responses/${status}`, response: described }
  }
  const name = described.$ref.slice('#/components/responses/'.length)
  const response = plainDocument.components.responses[name]
  assert.ok(response, `the document refers to ${described.$ref}, which it does not have`)
  return { pointer: `/components/responses/${name}`, response }
}
