// The types of the OpenAPI document that the API reference shows, and the look-up of its references.

export interface Reference {
  readonly $ref: string
}

export interface Schema {
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly enum?: readonly string[]
  readonly const?: string
  readonly minimum?: number | bigint
  readonly maximum?: number | bigint
  readonly minLength?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly default?: number
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema | Reference>>
  readonly items?: Schema | Reference
}

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description: string
  readonly schema: Schema | Reference
  readonly example?: number
}

export interface Header {
  readonly description: string
  readonly schema: Schema
  readonly example?: string
}

export interface Content {
  readonly schema: Schema | Reference
  readonly example: unknown
}

export interface Response {
  readonly description: string
  readonly headers: Readonly<Record<string, Reference>>
  readonly content: Readonly<Record<string, Content>>
}

export interface RequestBody {
  readonly description: string
  readonly content: Readonly<Record<string, Content>>
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly deprecated?: boolean
  readonly parameters: readonly Parameter[]
  readonly requestBody?: RequestBody
  readonly responses: Readonly<Record<string, Response | Reference>>
}

/** The parts of an OpenAPI document that the page shows. */
export interface ApiDescription {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, { readonly description: string }>>
    readonly schemas: Readonly<Record<string, Schema>>
    readonly headers: Readonly<Record<string, Header>>
    readonly responses: Readonly<Record<string, Response>>
  }
}

/** An operation with its path and method. */
export interface LocatedOperation extends Operation {
  readonly path: string
  readonly method: string
}

const JSON_TYPE = 'application/json'

export function operationsOf({ paths }: ApiDescription): LocatedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      path,
      method: method.toUpperCase(),
    })),
  )
}

export function jsonOf({ content }: { readonly content: Readonly<Record<string, Content>> }): Content {
  return found(content[JSON_TYPE])
}

export function resolveSchema({ components }: ApiDescription, schema: Schema | Reference): Schema {
  return '$ref' in schema ? found(components.schemas[refName(schema)]) : schema
}

export function resolveResponse({ components }: ApiDescription, response: Response | Reference): Response {
  return '$ref' in response ? found(components.responses[refName(response)]) : response
}

/** An example of the schema with this name, taken from a request or response that uses the schema. */
export function exampleOf(api: ApiDescription, name: string): unknown {
  const contents = operationsOf(api).flatMap(({ requestBody, responses }) => [
    ...(requestBody === undefined ? [] : [jsonOf(requestBody)]),
    ...Object.values(responses).map(response => jsonOf(resolveResponse(api, response))),
  ])
  return contents.find(({ schema }) => '$ref' in schema && refName(schema) === name)?.example
}

/** The headers of a response, by name. */
export function headersOf({ components }: ApiDescription, { headers }: Response): Map<string, Header> {
  return new Map(
    Object.entries(headers).map(([name, reference]) => [name, found(components.headers[refName(reference)])]),
  )
}

export function refName({ $ref }: Reference): string {
  return $ref.slice($ref.lastIndexOf('/') + 1)
}

function found<Value>(value: Value | undefined): Value {
  if (value === undefined)
    throw new Error('the OpenAPI document refers to something that it does not contain')
  return value
}
