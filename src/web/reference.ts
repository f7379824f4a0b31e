// The HTML of the API reference: the content of the OpenAPI document, with a form to try each operation.

import { type Environment, KEY_PREFIX } from '../api-key.ts'
import { renderJson } from '../json.ts'
import {
  type ApiDescription,
  type Operation,
  type Parameter,
  type Reference,
  type Response,
  resolveResponse,
  resolveSchema,
  type Schema,
} from './api-description.ts'
import { type Html, html } from './html.ts'

const JSON_TYPE = 'application/json'

/** An example of the client for each operation. The page declares `store` above them. */
const CLIENT_EXAMPLES: Readonly<Record<string, string>> = {
  listPets: `const { animals, next } = await store.listAnimals({ status: 'available', limit: 20 })

for await (const animal of store.animals({ status: 'available' })) {
  console.log(animal.id, animal.name)
}`,
  createPet: `const bella = await store.createAnimal({ name: 'Bella', categoryId: 7n, status: 'available' })`,
  getPet: `// Deprecated: use listAnimals.
const animal = await store.getAnimal(1n)`,
}

/** The examples use the server of `environment`. */
export function renderReference(api: ApiDescription, environment: Environment): Html {
  const server = api.servers.find(({ description }) => description.toLowerCase() === environment)
  const baseUrl = server?.url ?? ''
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  return html`<h1>API reference</h1>
<p>${renderMarkdown(api.info.description)}</p>
<table class="plain"><caption>Version ${api.info.version}, at these URLs</caption>
<tbody>${api.servers.map(({ url, description }) => html`<tr><th scope="row">${description}</th><td><code>${url}</code></td></tr>`)}</tbody></table>
<nav class="contents" aria-label="Operations and objects"><ul>
${operations.map(({ path, method, operation }) => html`<li><a href="#${operation.operationId}">${renderMethod(method)} ${path}</a> ${operation.summary}${operation.deprecated && ' (deprecated)'}</li>`)}
${Object.keys(api.components.schemas).map(name => html`<li><a href="#${name}">${name}</a></li>`)}
</ul></nav>
<section id="client"><h2>Use from a program</h2>
<p>Any HTTP client works. Note that <code>id</code> and <code>categoryId</code> are 64-bit integers: <code>JSON.parse</code> in JavaScript rounds large ones. The client for TypeScript and JavaScript, <code>animal-store-client</code>, returns them exactly, retries safely and has no dependencies.</p>
<p>The npm registry does not have the client yet. Build it in a checkout of the repository:</p>
<pre>npm ci && npm pack --workspace client</pre>
<p>Copy the file to your project and install it there:</p>
<pre>npm install ./animal-store-client-*.tgz</pre>
<pre>import { AnimalStore } from 'animal-store-client'

const store = new AnimalStore({ baseUrl: '${baseUrl}', apiKey })</pre></section>
<section class="key"><label for="api-key">API key for the forms below. This page does not store it: it is gone when you leave the page.</label>
<input id="api-key" type="password" autocomplete="off" spellcheck="false" placeholder="${KEY_PREFIX[environment]}…"></section>
${operations.map(({ path, method, operation }) => renderOperation(api, path, method, operation))}
<h2>Objects</h2>
${Object.entries(api.components.schemas).map(([name, schema]) => renderSchema(api, name, schema))}`
}

function renderOperation(api: ApiDescription, path: string, method: string, operation: Operation): Html {
  const { operationId, summary, description, deprecated, parameters, requestBody, responses } = operation
  const example = requestBody?.content[JSON_TYPE]?.example
  return html`<section class="operation" id="${operationId}">
<h2>${renderMethod(method)} <code>/v1${path}</code></h2>
<p class="summary"><strong>${summary}</strong> <code>${operationId}</code>${deprecated && html` <span class="deprecated">deprecated</span>`}</p>
<p>${renderMarkdown(description)}</p>
<form class="try" data-method="${method.toUpperCase()}" data-path="v1${path}">
<table><caption>Parameters</caption><thead><tr><th scope="col">Name</th><th scope="col">Meaning</th><th scope="col">Value to send</th></tr></thead>
<tbody>${parameters.map(parameter => renderParameter(api, operationId, parameter))}</tbody></table>
${
  example !== undefined &&
  html`<label for="${operationId}-body">Body, a <a href="#NewAnimal">NewAnimal</a></label>
<textarea id="${operationId}-body" name="body" data-in="body" rows="5" spellcheck="false">${renderJson(example, 2)}</textarea>`
}
<p class="example-title">With curl</p>
<pre class="curl"></pre>
<p class="example-title">With the client</p>
<pre class="client">${CLIENT_EXAMPLES[operationId]}</pre>
<button type="submit">Send</button>
<output hidden></output>
</form>
<table><caption>Responses</caption><thead><tr><th scope="col">Status</th><th scope="col">Meaning</th><th scope="col">Headers</th></tr></thead>
<tbody>${Object.entries(responses).map(([status, response]) => renderResponse(api, status, response))}</tbody></table>
</section>`
}

function renderParameter(api: ApiDescription, operationId: string, parameter: Parameter): Html {
  const schema = resolveSchema(api, parameter.schema)
  const id = `${operationId}-${parameter.name}`
  const input = schema.enum
    ? html`<select id="${id}" name="${parameter.name}" data-in="${parameter.in}"><option value="">any</option>${schema.enum.map(value => html`<option>${value}</option>`)}</select>`
    : html`<input id="${id}" name="${parameter.name}" data-in="${parameter.in}" autocomplete="off" placeholder="${schema.default ?? ''}"${parameter.required && html` required`}>`
  return html`<tr><th scope="row"><label for="${id}"><code>${parameter.name}</code></label> <small>${parameter.in}${parameter.required && ', required'}</small></th>
<td>${renderMarkdown(parameter.description)} <small>${describeConstraints(schema)}</small></td><td>${input}</td></tr>`
}

function renderResponse(api: ApiDescription, status: string, response: Response | Reference): Html {
  const { description, headers, content } = resolveResponse(api, response)
  return html`<tr><th scope="row">${status}</th>
<td>${renderMarkdown(description)}<details><summary>Example</summary><pre>${renderJson(content[JSON_TYPE]?.example, 2)}</pre></details></td>
<td>${Object.keys(headers).map(name => html`<code>${name}</code> `)}</td></tr>`
}

function renderSchema(api: ApiDescription, name: string, schema: Schema): Html {
  const { description = '', properties = {}, required = [] } = schema
  const fields = Object.entries(properties)
  return html`<section id="${name}"><h3>${name}</h3><p>${renderMarkdown(description)} <small>${describeConstraints(schema)}</small></p>
${
  fields.length > 0 &&
  html`<table><thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
<tbody>${fields.map(([field, declared]) => {
    const resolved = resolveSchema(api, declared)
    return html`<tr><th scope="row"><code>${field}</code> <small>${required.includes(field) ? 'required' : 'optional'}</small></th>
<td><small>${describeConstraints(resolved)}</small></td><td>${renderMarkdown(resolved.description ?? '')}</td></tr>`
  })}</tbody></table>`
}</section>`
}

function describeConstraints({
  type,
  format,
  enum: values,
  minimum,
  maximum,
  minLength,
  maxLength,
  default: defaultValue,
}: Schema): string {
  return [
    format ?? type,
    values?.join(' | '),
    minimum !== undefined && `${minimum} to ${maximum}`,
    minLength !== undefined && `${minLength} to ${maxLength} characters`,
    defaultValue !== undefined && `default ${defaultValue}`,
  ]
    .filter(Boolean)
    .join(', ')
}

function renderMethod(method: string): Html {
  return html`<span class="method ${method}">${method.toUpperCase()}</span>`
}

/** The descriptions are Markdown. Code is the only syntax that they use. */
function renderMarkdown(text: string): Html {
  return html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`
}
