// The HTML of the API reference: a guide, and the content of the OpenAPI document with a form to try each operation.

import { type Environment, KEY_PREFIX, READ_ONLY_PREFIX } from '../api-key.ts'
import { renderJson } from '../json.ts'
import {
  type ApiDescription,
  bodyOf,
  commonHeaders,
  exampleOf,
  type LocatedOperation,
  operationsOf,
  type Parameter,
  type Response,
  resolveReferences,
  type Schema,
} from './api-description.ts'
import { type Html, html } from './html.ts'
import { icon } from './icons.ts'
import { guideSections } from './reference-guide.ts'
import {
  describeType,
  errorCode,
  type ReferenceOptions,
  renderCode,
  renderCopyButton,
  renderHeaders,
  renderKeywords,
  renderMarkdown,
  renderMember,
  renderMembers,
  renderMethod,
  renderSamples,
  renderSection,
  renderSubheading,
  renderTokens,
  renderType,
} from './reference-parts.ts'
import { NO_BODY } from './samples/highlight.ts'
import { buildRequest, type Field, fillIn, type SampleRequest } from './samples/sample-request.ts'

/**
 * The content of the page, and its table of contents, which is a drawer on small screens: `tools` has the button that
 * opens it. The samples use the server of `environment`.
 */
export function renderReference(document: object, environment: Environment) {
  const api = resolveReferences(document)
  const server = api.servers.find(({ description }) => description.toLowerCase() === environment)
  const removal = formatDate(api.components.headers.Sunset?.schema.const ?? '')
  const options = { api, environment, baseUrl: server?.url ?? '', removal }
  const guide = guideSections(options)
  const operations = operationsOf(api)
  const schemas = Object.entries(api.components.schemas)
  return {
    tools: html`<button id="show-contents" class="icon-button" type="button" popovertarget="contents" aria-label="Contents" title="Contents">${icon('menu')}</button>`,
    navigation: html`<nav id="contents" popover aria-label="Contents">
<input id="search" class="needs-script" type="search" aria-label="Search the reference" autocomplete="off" spellcheck="false" placeholder="Search (press /)" aria-keyshortcuts="/">
<small id="no-match" role="status"></small>
<p class="site"><a href="./">Catalogue</a><a href="./openapi.json">OpenAPI document</a></p>
<h2>Guide</h2><ul>${guide.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul>
<h2>Operations</h2><ul>${operations.map(({ operationId, summary, method, deprecated }) => html`<li><a href="#${operationId}"><span>${summary}${deprecated && html`<br><small class="warning">until ${removal}</small>`}</span>${renderMethod(method)}</a></li>`)}</ul>
<h2>Schemas</h2><ul>${schemas.map(([name]) => html`<li><a href="#${name}">${name}</a></li>`)}</ul>
</nav>`,
    content: html`<div id="top" class="row"><div><h1>API reference</h1><small id="key-hint" class="needs-script">The key is not stored.</small></div>
<div id="key-home" class="needs-script"><div id="key" class="row"><label for="api-key">API key</label><input id="api-key" type="password" autocomplete="off" spellcheck="false" enterkeyhint="done" placeholder="${KEY_PREFIX[environment]}…" data-read-only="${Object.values(READ_ONLY_PREFIX).join(' ')}" aria-describedby="key-hint"></div></div></div>
<noscript><p class="text">Without JavaScript, this page cannot send requests, search or copy.</p></noscript>
${guide.map(renderSection)}
${operations.map(operation => renderOperation(options, operation))}
${schemas.map(([name, schema]) => renderSchema(api, name, schema))}`,
  }
}

function renderOperation(options: ReferenceOptions, operation: LocatedOperation): Html {
  const { environment, baseUrl, removal } = options
  const { operationId, summary, description, deprecated, path, method, requestBody } = operation
  const mediaType = requestBody && bodyOf(requestBody.content).mediaType
  const fields = initialFields(operation)
  const request = buildRequest({ operationId, method, path, baseUrl, mediaType, fields })
  const responses = Object.entries(operation.responses)
  const successes = responses.filter(([status]) => status < '400')
  const errors = responses.filter(([status]) => status >= '400')
  const asks = method !== 'GET' && environment === 'production'
  return html`<section class="operation" id="${operationId}"${renderKeywords(KEYWORDS[operationId])}><form data-operation="${operationId}" data-method="${method}" data-path="v1${path}"${mediaType !== undefined && html` data-media-type="${mediaType}"`}${asks && html` data-confirm="${summary}"`}>
<div class="text"><h2><a href="#${operationId}">${summary}</a></h2>
<p class="target row">${renderMethod(method)} <code>/v1${path}</code> <small>${operationId}</small>${deprecated && html` <small><a class="warning" href="#deprecation">deprecated, will be removed on ${removal}</a></small>`}</p>
<p>${renderMarkdown(description)}</p>
${renderParameters(operation)}
${renderBody(operation)}</div>
<div class="code"><div>${renderSamples({ id: operationId, file: fileName(operationId), sample: ({ render }) => render(request) })}
<div class="send"><button class="primary" type="submit" aria-describedby="${operationId}-effect">Send</button><small><code class="url">${method} /v1${path}</code><br>${renderEffect(`${operationId}-effect`, describeEffect(operation, environment), request.values)}</small></div>
<div class="result row" hidden><output></output><button type="button" hidden>Next page</button></div>
${renderExamples(responses)}</div></div>
<div class="text">${successes.map(([status, response]) => renderSuccess(`${operationId}-${status}`, status, response, commonHeaders(options.api)))}
${renderSubheading(`${operationId}-errors`, 'Errors')}
<dl class="pairs">${errors.map(([status, response]) => html`<dt><a href="#error-${errorCode(response)}">${status}</a></dt><dd><code>${errorCode(response)}</code> ${renderMarkdown(response.description)}</dd>`)}</dl></div>
</form></section>`
}

/** Other words by which the search finds the operations. */
const KEYWORDS: Readonly<Record<string, string>> = {
  listPets: 'pagination, cursor, sort, order, filter, search, query, find',
  createPet: 'create, post, insert, new',
  getInventory: 'inventory, stock, total, statistics',
  updatePet: 'update, edit, modify, sell, reserve, rename, put',
  deletePet: 'delete, erase, destroy',
  getPet: 'read, fetch, by id',
}

/** The file of a sample: `list` of listPets, `inventory` of getInventory. */
function fileName(operationId: string): string {
  return operationId.replace(/Pets?$|^get(?!Pet)/, '').toLowerCase()
}

/** What "Send" does, with the names of parameters in braces. In production, it asks with these words before each write. */
function describeEffect({ operationId, method }: LocatedOperation, environment: Environment): string {
  switch (method) {
    case 'GET':
      return `reads from ${environment} and changes nothing`
    case 'POST':
      return `adds an animal to ${environment}`
    case 'PATCH':
      return `changes animal {petId} in ${environment}`
    case 'DELETE':
      return `removes animal {petId} from ${environment} for good`
    default:
      throw new Error(`there are no words for what ${operationId} does`)
  }
}

function renderEffect(id: string, effect: string, values: SampleRequest['values']): Html {
  return html`<span class="effect" id="${id}" data-effect="${effect}">${fillIn(effect, values)}</span>`
}

function renderParameters({ operationId, parameters }: LocatedOperation): Html | undefined {
  if (parameters.length === 0) return undefined
  return html`${renderSubheading(`${operationId}-parameters`, 'Parameters')}
<dl class="members">${parameters.map(parameter => renderParameter(operationId, parameter))}</dl>`
}

function renderParameter(operationId: string, parameter: Parameter): Html {
  const { name, in: place, required, description, example, schema } = parameter
  const id = `${operationId}-${name}`
  const attributes = html`id="${id}-value" name="${name}" data-in="${place}"`
  return renderMember({
    id,
    name,
    details: html`${describeType(schema)} · ${place}`,
    isRequired: required,
    text: renderMarkdown(description),
    field: schema.enum
      ? html`<select ${attributes}><option value="">any</option>${schema.enum.map(value => html`<option>${String(value)}</option>`)}</select>`
      : html`<input ${attributes} value="${example ?? ''}" autocomplete="off" spellcheck="false" placeholder="${schema.default ?? ''}"${required && html` required`}>`,
  })
}

function renderBody({ operationId, requestBody }: LocatedOperation): Html | undefined {
  if (requestBody === undefined) return undefined
  const { schema, example } = bodyOf(requestBody.content)
  const mediaTypes = Object.keys(requestBody.content).map(
    (mediaType, index) => html`${index > 0 && ' or '}<code>${mediaType}</code>`,
  )
  const id = `${operationId}-body`
  return html`${renderSubheading(id, 'Body')}
<p><label for="${id}-value">${renderMarkdown(requestBody.description)}</label> Its type is ${renderType(schema)}, as ${mediaTypes}.</p>
<textarea class="value" id="${id}-value" name="body" data-in="body" rows="5" spellcheck="false">${renderJson(example, 2)}</textarea>
${renderMembers(id, schema)}`
}

/** The values that the form has at first. */
function initialFields({ parameters, requestBody }: LocatedOperation): Field[] {
  const fields = parameters.map(({ name, in: place, example }) => ({
    name,
    in: place,
    value: String(example ?? ''),
  }))
  if (requestBody === undefined) return fields
  return [...fields, { name: 'body', in: 'body', value: renderJson(bodyOf(requestBody.content).example, 2) }]
}

/** The examples of all responses, to choose from. "Send" shows the real response in this place, which has headers too. */
function renderExamples(responses: readonly [status: string, response: Response][]): Html {
  const examples = responses.map(([status, { content }]) => ({
    status,
    text: content === undefined ? NO_BODY : renderJson(bodyOf(content).example, 2),
  }))
  return html`<div class="block response"><div class="row"><p>Response ${examples[0]?.status}, an example</p><select class="needs-script" aria-label="Status of the example" autocomplete="off">${examples.map(({ status, text }) => html`<option value="${text}">${status}</option>`)}</select></div>${renderCopyButton('response')}<pre tabindex="0"><code>${renderTokens('json', examples[0]?.text ?? '')}</code></pre>
<details hidden><summary>Headers</summary>${renderCopyButton('headers of the response')}<pre tabindex="0"><code></code></pre></details></div>`
}

function renderSuccess(
  id: string,
  status: string,
  response: Response,
  common: ApiDescription['components']['headers'],
): Html {
  const own = Object.fromEntries(Object.entries(response.headers).filter(([name]) => !(name in common)))
  return html`${renderSubheading(id, `Response ${status}`)}
<p>${renderMarkdown(response.description)} <small>${response.content === undefined ? NO_BODY : describeType(bodyOf(response.content).schema)}</small></p>
${response.content !== undefined && renderMembers(id, itemsOf(bodyOf(response.content).schema))}
${Object.keys(own).length > 0 && html`<details><summary>Headers</summary>${renderHeaders(id, own)}</details>`}
<p><small><a href="#headers">Headers of every successful response</a></small></p>`
}

/** The schema whose members a reader wants to know: that of the items of an array. */
function itemsOf(schema: Schema): Schema {
  return schema.items ?? schema
}

function renderSchema(api: ApiDescription, name: string, schema: Schema): Html {
  const example = exampleOf(api, name)
  return renderSection({
    id: name,
    title: name,
    text: html`<p><small>${describeType(schema)}</small></p><p>${renderMarkdown(schema.description ?? '')}</p>
${schema.properties !== undefined && renderMembers(name, schema)}`,
    code: example === undefined ? undefined : renderCode('json', renderJson(example, 2), 'Example'),
  })
}

function formatDate(date: string): string {
  return new Date(date).toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
}
