// What a sample sends: the request that the values of an operation's form describe.

/** A value of the form. */
export interface Field {
  readonly name: string
  /** Where the value is sent: `path`, `query`, `header` or `body`. */
  readonly in: string
  readonly value: string
}

interface RequestOptions {
  readonly operationId: string
  readonly method: string
  /** The base URL of the API. */
  readonly baseUrl: string
  /** The path with its parameters in braces, such as `/pets/{petId}`. */
  readonly path: string
  /** That of the body. */
  readonly mediaType?: string | undefined
  readonly fields: readonly Field[]
}

export interface SampleRequest extends Pick<RequestOptions, 'operationId' | 'method' | 'baseUrl'> {
  readonly url: string
  /** The values of the form that are not empty, by name. */
  readonly values: Readonly<Record<string, string>>
  /** All headers but `Authorization`. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string | undefined
}

/** The environment variable that the samples read the API key from. */
export const KEY_VARIABLE = 'ANIMAL_STORE_KEY'

/** Puts the values of parameters in place of their names in braces. */
export function fillIn(text: string, values: SampleRequest['values']): string {
  return text.replace(/\{(\w+)\}/g, (braces, name) => values[name] ?? braces)
}

/** An empty value is left out. An empty path parameter stays a name in braces. */
export function buildRequest(options: RequestOptions): SampleRequest {
  const { operationId, method, baseUrl, mediaType = 'application/json' } = options
  const fields = options.fields.filter(({ value }) => value !== '')
  const query = new URLSearchParams()
  const headers: [string, string][] = []
  let { path } = options
  let body: string | undefined
  for (const { name, value, in: place } of fields) {
    if (place === 'path') path = path.replace(`{${name}}`, () => encodeURIComponent(value.toWellFormed()))
    else if (place === 'query') query.append(name, value)
    else if (place === 'header') headers.push([name, value])
    else body = value
  }
  if (body !== undefined) headers.unshift(['Content-Type', mediaType])
  const search = query.size === 0 ? '' : `?${query}`
  const values = Object.fromEntries(fields.map(({ name, value }) => [name, value]))
  return { operationId, method, url: baseUrl + path + search, baseUrl, values, headers, body }
}
