// The API reference: the OpenAPI document as a page to read, with a form to try each operation.

import type { Environment } from '../api-key.ts'
import { renderJson } from '../json.ts'
import { type Html, html } from './html.ts'

interface Reference {
  readonly $ref: string
}

interface Schema {
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

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description: string
  readonly schema: Schema | Reference
}

interface Response {
  readonly description: string
  readonly headers: object
  readonly content: Readonly<Record<string, { readonly example: unknown }>>
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly deprecated?: boolean
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example: unknown }>> }
  readonly responses: Readonly<Record<string, Response | Reference>>
}

/** As much of an OpenAPI document as the page shows. */
export interface ApiDescription {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly responses: Readonly<Record<string, Response>>
  }
}

const JSON_TYPE = 'application/json'

/** Each operation with the client; `store` is the one that the page makes above them. */
const CLIENT_EXAMPLES: Readonly<Record<string, string>> = {
  listPets: `const { animals, next } = await store.listAnimals({ status: 'available', limit: 20 })

for await (const animal of store.animals({ status: 'available' })) {
  console.log(animal.id, animal.name)
}`,
  createPet: `const bella = await store.createAnimal({ name: 'Bella', categoryId: 7n, status: 'available' })`,
  getPet: `// Deprecated: listAnimals is the way to an animal.
const animal = await store.getAnimal(1n)`,
}

/** `environment` is the one that the examples lead to. */
export function reference(api: ApiDescription, environment: Environment): Html {
  const own = api.servers.find(({ description }) => description.toLowerCase() === environment)
  const baseUrl = own?.url ?? ''
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  return html`<h1>API reference</h1>
<p>${prose(api.info.description)}</p>
<table class="plain"><caption>Version ${api.info.version}, at these addresses</caption>
<tbody>${api.servers.map(({ url, description }) => html`<tr><th scope="row">${description}</th><td><code>${url}</code></td></tr>`)}</tbody></table>
<nav class="contents" aria-label="Operations and objects"><ul>
${operations.map(({ path, method, operation }) => html`<li><a href="#${operation.operationId}">${badge(method)} ${path}</a> ${operation.summary}${operation.deprecated && ' (deprecated)'}</li>`)}
${Object.keys(api.components.schemas).map(name => html`<li><a href="#${name}">${name}</a></li>`)}
</ul></nav>
<section id="client"><h2>From a program</h2>
<p>Any HTTP client will do; mind that <code>id</code> and <code>categoryId</code> are 64-bit integers. The one that comes with the service, for TypeScript and JavaScript, keeps them exact, retries safely and needs nothing but <code>fetch</code>:</p>
<pre>npm install animal-store</pre>
<pre>import { AnimalStore } from 'animal-store/client'

const store = new AnimalStore({ baseUrl: '${baseUrl}', apiKey })</pre></section>
<section class="key"><label for="api-key">API key, for trying things here. It stays in this page and is forgotten when you leave it.</label>
<input id="api-key" type="password" autocomplete="off" spellcheck="false" placeholder="as_live_… or as_test_…"></section>
${operations.map(({ path, method, operation }) => describeOperation(api, path, method, operation))}
<h2>Objects</h2>
${Object.entries(api.components.schemas).map(([name, schema]) => describeSchema(api, name, schema))}`
}

function describeOperation(api: ApiDescription, path: string, method: string, operation: Operation): Html {
  const { operationId, summary, description, deprecated, parameters, requestBody, responses } = operation
  const example = requestBody?.content[JSON_TYPE]?.example
  return html`<section class="operation" id="${operationId}">
<h2>${badge(method)} <code>/v1${path}</code></h2>
<p class="summary"><strong>${summary}</strong> <code>${operationId}</code>${deprecated && html` <span class="deprecated">deprecated</span>`}</p>
<p>${prose(description)}</p>
<form class="try" data-method="${method.toUpperCase()}" data-path="/v1${path}">
<table><caption>Parameters</caption><thead><tr><th scope="col">Name</th><th scope="col">Meaning</th><th scope="col">Try it with</th></tr></thead>
<tbody>${parameters.map(parameter => describeParameter(api, operationId, parameter))}</tbody></table>
${
  example !== undefined &&
  html`<label for="${operationId}-body">Body, a <a href="#NewAnimal">NewAnimal</a></label>
<textarea id="${operationId}-body" name="body" data-in="body" rows="5" spellcheck="false">${renderJson(example, 2)}</textarea>`
}
<p class="with">With curl</p>
<pre class="curl"></pre>
<p class="with">With the client</p>
<pre class="client">${CLIENT_EXAMPLES[operationId]}</pre>
<button type="submit">Send</button>
<output hidden></output>
</form>
<table><caption>Responses</caption><thead><tr><th scope="col">Status</th><th scope="col">Meaning</th><th scope="col">Headers</th></tr></thead>
<tbody>${Object.entries(responses).map(([status, response]) => describeResponse(api, status, response))}</tbody></table>
</section>`
}

function describeParameter(api: ApiDescription, operationId: string, parameter: Parameter): Html {
  const schema = resolveSchema(api, parameter.schema)
  const id = `${operationId}-${parameter.name}`
  const input = schema.enum
    ? html`<select id="${id}" name="${parameter.name}" data-in="${parameter.in}"><option value="">any</option>${schema.enum.map(value => html`<option>${value}</option>`)}</select>`
    : html`<input id="${id}" name="${parameter.name}" data-in="${parameter.in}" autocomplete="off" placeholder="${schema.default ?? ''}"${parameter.required && html` required`}>`
  return html`<tr><th scope="row"><label for="${id}"><code>${parameter.name}</code></label> <small>${parameter.in}${parameter.required && ', required'}</small></th>
<td>${prose(parameter.description)} <small>${constraints(schema)}</small></td><td>${input}</td></tr>`
}

function describeResponse(api: ApiDescription, status: string, response: Response | Reference): Html {
  const { description, headers, content } = resolveResponse(api, response)
  return html`<tr><th scope="row">${status}</th>
<td>${prose(description)}<details><summary>Example</summary><pre>${renderJson(content[JSON_TYPE]?.example, 2)}</pre></details></td>
<td>${Object.keys(headers).map(name => html`<code>${name}</code> `)}</td></tr>`
}

function describeSchema(api: ApiDescription, name: string, schema: Schema): Html {
  const { description = '', properties = {}, required = [] } = schema
  const fields = Object.entries(properties)
  return html`<section id="${name}"><h3>${name}</h3><p>${prose(description)} <small>${constraints(schema)}</small></p>
${
  fields.length > 0 &&
  html`<table><thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
<tbody>${fields.map(([field, declared]) => {
    const resolved = resolveSchema(api, declared)
    return html`<tr><th scope="row"><code>${field}</code> <small>${required.includes(field) ? 'required' : 'optional'}</small></th>
<td><small>${constraints(resolved)}</small></td><td>${prose(resolved.description ?? '')}</td></tr>`
  })}</tbody></table>`
}</section>`
}

function constraints({
  type,
  format,
  enum: values,
  minimum,
  maximum,
  minLength,
  maxLength,
  default: standard,
}: Schema): string {
  return [
    format ?? type,
    values?.join(' | '),
    minimum !== undefined && `${minimum} to ${maximum}`,
    minLength !== undefined && `${minLength} to ${maxLength} characters`,
    standard !== undefined && `default ${standard}`,
  ]
    .filter(Boolean)
    .join(', ')
}

function badge(method: string): Html {
  return html`<span class="method ${method}">${method.toUpperCase()}</span>`
}

/** The document's descriptions are Markdown, of which they use code marks only. */
function prose(text: string): Html {
  return html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`
}

function resolveSchema({ components }: ApiDescription, schema: Schema | Reference): Schema {
  return '$ref' in schema ? (components.schemas[lastPart(schema)] ?? {}) : schema
}

function resolveResponse({ components }: ApiDescription, response: Response | Reference): Response {
  const found = '$ref' in response ? components.responses[lastPart(response)] : response
  if (found === undefined) throw new Error('the OpenAPI document refers to a response it does not have')
  return found
}

function lastPart({ $ref }: Reference): string {
  return $ref.slice($ref.lastIndexOf('/') + 1)
}
