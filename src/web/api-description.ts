// The OpenAPI document as the API reference needs it: with what its references refer to in place of them.

import { isObject } from '../json.ts'

export interface Schema {
  /** Only a schema that was referred to has a name. */
  readonly name?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly description?: string
  readonly enum?: readonly (string | null)[]
  readonly const?: string
  readonly minimum?: number | bigint
  readonly maximum?: number | bigint
  readonly minLength?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly default?: number
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description: string
  readonly schema: Schema
  readonly example?: number
}

export interface Header {
  readonly description: string
  readonly schema: Schema
  readonly example?: string
}

export interface Content {
  readonly schema: Schema
  readonly example: unknown
}

/** What a body can be, by media type. The types of one body have the same schema and example. */
type BodyContent = Readonly<Record<string, Content>>

export interface Response {
  readonly description: string
  readonly headers: Readonly<Record<string, Header>>
  /** Absent if the response has no body. */
  readonly content?: BodyContent
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly deprecated?: boolean
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly description: string; readonly content: BodyContent }
  readonly responses: Readonly<Record<string, Response>>
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

/** The document may have any other members too, which the page does not show. */
export function resolveReferences(document: object): ApiDescription {
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve)
    if (!isObject(value)) return value
    if (typeof value.$ref === 'string') return lookUp(value.$ref)
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, resolve(member)]))
  }
  const lookUp = (reference: string): object => {
    const path = reference.split('/').slice(1)
    const target = path.reduce<unknown>((part, key) => isObject(part) && part[key], document)
    if (!isObject(target)) throw new Error(`the OpenAPI document does not contain ${reference}`)
    return Object.assign({}, resolve(target), { name: path.at(-1) })
  }
  return resolve(document) as ApiDescription
}

export function operationsOf({ paths }: ApiDescription): LocatedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      path,
      method: method.toUpperCase(),
    })),
  )
}

/** The headers that every successful response of every operation has. */
export function commonHeaders(api: ApiDescription): Readonly<Record<string, Header>> {
  const responses = operationsOf(api).flatMap(({ responses }) =>
    Object.entries(responses).flatMap(([status, { headers }]) => (status < '400' ? [headers] : [])),
  )
  const [first = {}] = responses
  return Object.fromEntries(Object.entries(first).filter(([name]) => responses.every(each => name in each)))
}

/** A body in its first media type. All bodies are JSON, whatever their media type is called. */
export function bodyOf(content: BodyContent): Content & { readonly mediaType: string } {
  const [first] = Object.entries(content)
  if (first === undefined) throw new Error('the OpenAPI document has a body without a media type')
  const [mediaType, { schema, example }] = first
  return { mediaType, schema, example }
}

/** An example of the schema with this name, taken from a request or response that uses the schema. */
export function exampleOf(api: ApiDescription, name: string): unknown {
  const contents = operationsOf(api).flatMap(({ requestBody, responses }) => [
    requestBody?.content,
    ...Object.values(responses).map(({ content }) => content),
  ])
  return contents
    .filter(content => content !== undefined)
    .map(bodyOf)
    .find(({ schema }) => schema.name === name)?.example
}
