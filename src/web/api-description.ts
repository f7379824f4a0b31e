// The types of the OpenAPI document that the API reference shows, and the look-up of its references.

export interface Reference {
  readonly $ref: string
}

export interface Schema {
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly enum?: readonly string[]
  readonly minimum?: number | bigint
  readonly maximum?: number | bigint
  readonly minLength?: number
  readonly maxLength?: number
  readonly default?: number
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema | Reference>>
}

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description: string
  readonly schema: Schema | Reference
}

export interface Response {
  readonly description: string
  readonly headers: object
  readonly content: Readonly<Record<string, { readonly example: unknown }>>
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly deprecated?: boolean
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example: unknown }>> }
  readonly responses: Readonly<Record<string, Response | Reference>>
}

/** The parts of an OpenAPI document that the page shows. */
export interface ApiDescription {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly responses: Readonly<Record<string, Response>>
  }
}

export function resolveSchema({ components }: ApiDescription, schema: Schema | Reference): Schema {
  return '$ref' in schema ? (components.schemas[refName(schema)] ?? {}) : schema
}

export function resolveResponse({ components }: ApiDescription, response: Response | Reference): Response {
  const found = '$ref' in response ? components.responses[refName(response)] : response
  if (found === undefined)
    throw new Error('the OpenAPI document refers to a response that it does not contain')
  return found
}

function refName({ $ref }: Reference): string {
  return $ref.slice($ref.lastIndexOf('/') + 1)
}
