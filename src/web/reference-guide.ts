// The guide of the API reference: what all operations have in common.

import { KEY_PREFIX } from '../api-key.ts'
import { formatNumber } from '../count.ts'
import { STATUS_OF } from '../error.ts'
import { INT64_MAX, renderJson } from '../json.ts'
import { MAX_EXAMINED, PAGE_LIMIT } from '../page.ts'
import { IDEMPOTENCY_WINDOW_HOURS } from '../write.ts'
import { type ApiDescription, type Header, jsonOf, operationsOf, type Response } from './api-description.ts'
import { type Html, html } from './html.ts'
import {
  errorCode,
  type ReferenceOptions,
  renderCode,
  renderMarkdown,
  renderMember,
  renderSamples,
  type Section,
} from './reference-parts.ts'
import { ERROR_SAMPLES, PAGING_SAMPLES } from './samples/guide.ts'
import { withClient } from './samples/languages.ts'
import { KEY_VARIABLE } from './samples/sample-request.ts'

export function guideSections({ api, environment, baseUrl, removal }: ReferenceOptions): readonly Section[] {
  const { PageLinks, RateLimitPolicy, RateLimit, Deprecation, Sunset, DeprecationLinks } =
    api.components.headers
  return [
    {
      id: 'start',
      title: 'Start',
      text: html`<p>${renderMarkdown(api.info.description)}</p>
<dl class="pairs">${api.servers.map(({ url, description }) => html`<dt>${description}</dt><dd><code>${url}</code></dd>`)}<dt>Version</dt><dd>${api.info.version}</dd></dl>
<p>Store your API key in the environment variable <code>${KEY_VARIABLE}</code>: the samples read it from there. Or send requests from this page: it asks once for the key. The <a href="./">catalogue</a> shows the same animals. Code generators can use the <a href="./openapi.json">OpenAPI document</a>.</p>
<p>Any HTTP client works. Note that <code>id</code> and <code>categoryId</code> are 64-bit integers: <code>JSON.parse</code> in JavaScript rounds large ones. The client for JavaScript and TypeScript, <code>animal-store-client</code>, returns them exactly, retries safely and has no dependencies. Install it from npm (not yet published), or pack it in a checkout of the repository.</p>`,
      code: html`${renderCode('shell', `export ${KEY_VARIABLE}='${KEY_PREFIX[environment]}…'\ncurl '${baseUrl}/pets' \\\n  -H "Authorization: Bearer $${KEY_VARIABLE}"`, 'First request')}
${renderCode('json', renderJson(firstAnswer(api), 2), 'Response: 200')}
${renderCode('shell', 'npm install animal-store-client', 'Install the client')}`,
    },
    {
      id: 'authentication',
      title: 'Authentication',
      text: html`<p>Send an API key with every request, as a bearer token in the <code>Authorization</code> header. A key in the URL or in a cookie does not count. ${renderMarkdown(api.components.securitySchemes.apiKey?.description ?? '')}</p>
<p>The key is checked before the path, the method, the query and the body: without a valid one, every path below <code>/v1</code> answers <a href="#error-unauthorized">401</a>, and does not say why. Ask whoever runs the service for a key. <code>animal-store keys create --name my-program</code> creates one, and shows it once.</p>
<p>All keys may do everything. Keep yours secret: load it from the environment, and do not write it into your code.</p>`,
      code: html`${renderCode('http', `Authorization: Bearer ${KEY_PREFIX[environment]}…`, 'Request header')}
${renderCode('shell', `curl --include '${baseUrl}/pets' \\\n  -H 'Authorization: Bearer wrong'`, 'A key that is not valid')}
${renderError(api.components.responses.Unauthorized)}`,
    },
    {
      id: 'paging',
      title: 'Paging',
      text: html`<p><a href="#listPets">List animals</a> returns a page of <code>limit</code> animals by ascending id: ${PAGE_LIMIT.default} unless you ask for another number, and at most ${PAGE_LIMIT.maximum}. While animals are added, no animal appears twice and none moves to another page.</p>
<p><strong>Forwards</strong>: <code>after</code> takes the last id of a page and returns the animals that follow. <strong>Backwards</strong>: <code>before</code> takes the first id of a page and returns the animals that precede it. <code>before=${INT64_MAX}</code>, the largest id, returns the newest animals.</p>
<p>You need not build these URLs: each page has them in a header. They keep <code>limit</code> and all filters. Follow them until there is none.</p>
${renderHeaders('paging', { Link: PageLinks })}
<p>PostgreSQL assigns ids before it commits: of two animals that are added at the same time, the one with the larger id may appear first. If you have read past it by then, you do not see the smaller id until you list from the start again. This cannot happen on SQLite.</p>`,
      code: html`${renderCode('http', `Link: ${PageLinks?.example ?? ''}`.replaceAll(', <', ',\n  <'), 'Response header')}
${renderCode('shell', `curl '${baseUrl}/pets?limit=5&before=${INT64_MAX}' \\\n  -H "Authorization: Bearer $${KEY_VARIABLE}"`, 'The five newest animals')}
${renderSamples('paging', ({ id }) => PAGING_SAMPLES[id](baseUrl), 'All animals')}`,
    },
    {
      id: 'searching',
      title: 'Searching and counting',
      text: html`<p><a href="#listPets">List animals</a> searches too: <code>name</code> keeps the animals whose name contains a text, whatever its case and accents, and <code>categoryId</code> those of a category. All filters combine, also with <code>limit</code>, <code>after</code> and <code>before</code>. Send the text as percent-encoded UTF-8.</p>
<p>A search is bounded: one request examines at most ${formatNumber(MAX_EXAMINED)} animals. So a page may be shorter than <code>limit</code>, or empty, although more animals match. Do not stop there: follow <code>rel="next"</code> until there is none, or <code>rel="prev"</code> to search backwards. <code>animals</code> of our client does this by itself.</p>
<p><a href="#getInventory">Count animals by status</a> returns how many animals there are. You need not list them.</p>`,
      code: html`${renderCode('shell', `curl --include --get '${baseUrl}/pets' \\\n  -H "Authorization: Bearer $${KEY_VARIABLE}" \\\n  --data-urlencode 'name=zoë'`, 'Search for a name')}
${renderCode('http', 'Link: </v1/pets?limit=20&name=zo%C3%AB&after=10000>; rel="next"', 'Header of an empty page that is not the last')}
${renderCode('javascript', withClient(baseUrl, "for await (const animal of store.animals({ name: 'zoë' })) {", '  console.log(animal.id, animal.name)', '}'), 'All matches, with the client')}`,
    },
    {
      id: 'idempotency',
      title: 'Idempotency',
      text: html`<p>A connection can break after an animal was stored and before you have the answer. Send an <code>Idempotency-Key</code> with <a href="#createPet">each animal that you add</a>. Use a new value for each animal, such as a random one, and the same value when you repeat the request.</p>
<p>For ${IDEMPOTENCY_WINDOW_HOURS} hours, the same key with the same animal gets the first answer again, with the header <code>Idempotent-Replayed: true</code>, and no second animal is added. The same key with another animal gets <a href="#error-idempotency_key_reused">422</a>. Rejected requests are not remembered.</p>
<p>Our client does this by itself.</p>`,
      code: html`${renderCode('shell', `curl --include --retry 5 --retry-all-errors '${baseUrl}/pets' \\\n  -H "Authorization: Bearer $${KEY_VARIABLE}" \\\n  -H 'Content-Type: application/json' \\\n  -H 'Idempotency-Key: delivery-1042-bella' \\\n  --data-raw '{"name": "Bella", "categoryId": 7}'`, 'Retry without adding twice')}
${renderCode('http', 'Idempotent-Replayed: true', 'Header of a repeated response')}`,
    },
    {
      id: 'errors',
      title: 'Errors',
      text: html`<p>Every response of 400 and above has one JSON object, the <a href="#ErrorObject">ErrorObject</a>. Programs read <code>code</code>; <code>message</code> is for people, and its wording may change. Further codes may be added: if you do not know a code, decide by its status.</p>
<p>Every response has an <code>X-Request-Id</code>. Quote it when you ask for help.</p>
${renderErrorTable(api)}
<p>A path that does not exist gets <code>not_found</code> too.</p>`,
      code: html`${renderSamples('errors', ({ id }) => ERROR_SAMPLES[id](baseUrl), 'Read an error')}
${renderError(api.components.responses.InvalidRequest)}`,
    },
    {
      id: 'rate-limits',
      title: 'Rate limits',
      text: html`<p>The service may limit the requests of each API key. Every answer to a valid key then has two headers.</p>
${renderHeaders('rate-limits', { 'RateLimit-Policy': RateLimitPolicy, RateLimit })}
<p>Beyond the limit, the answer is <a href="#error-rate_limited">429</a>, and nothing is stored. After this answer, and after <a href="#error-unavailable">503</a>, wait for the number of seconds in <code>Retry-After</code> before you send again.</p>`,
      code: html`${renderCode('http', `RateLimit-Policy: ${RateLimitPolicy?.example}\nRateLimit: ${RateLimit?.example}`, 'Response headers')}
${renderError(api.components.responses.TooManyRequests, 'Retry-After: 1')}`,
    },
    {
      id: 'deprecation',
      title: 'Deprecation',
      text: html`<p>An operation that will be removed says so in its answers, years before.</p>
${renderHeaders('deprecation', { Deprecation, Sunset, Link: DeprecationLinks })}
<p><a href="#getPet">Get an animal</a> is deprecated and will be removed on ${removal}. From then on it answers <a href="#error-gone">410</a>. <a href="#listPets">List animals</a> replaces it: <code>after</code> with the id minus one and <code>limit=1</code> returns the animal with this id. If no animal has this id, it returns the next one, so compare the id. <code>findAnimal</code> of our client does both.</p>
<p>Within <code>/v1</code>, responses may get new members, and there may be new error codes. Ignore members that you do not know.</p>`,
      code: html`${renderCode('http', `Deprecation: ${Deprecation?.schema.const}\nSunset: ${Sunset?.schema.const}`, 'Response headers')}
${renderCode('shell', `curl '${baseUrl}/pets?after=1233&limit=1' \\\n  -H "Authorization: Bearer $${KEY_VARIABLE}"`, 'The animal with the id 1234, after the removal too')}
${renderCode('javascript', withClient(baseUrl, 'console.log(await store.findAnimal(1234n))'), 'The same with the client')}`,
    },
  ]
}

function firstAnswer(api: ApiDescription): unknown {
  const response = operationsOf(api).find(({ operationId }) => operationId === 'listPets')?.responses['200']
  return response && jsonOf(response).example
}

/** An error response, as it arrives. */
function renderError(response: Response | undefined, header = '') {
  if (response === undefined) return html``
  const { example } = jsonOf(response)
  const { status } = example as { status: number }
  return renderCode(
    'json',
    `${header === '' ? '' : `${header}\n\n`}${renderJson(example, 2)}`,
    `Response: ${status}`,
  )
}

function renderHeaders(section: string, headers: Readonly<Record<string, Header | undefined>>): Html {
  return html`<dl class="members">${Object.entries(headers).map(([name, header]) => renderMember({ id: `${section}-${name}`, name, text: renderMarkdown(header?.description ?? '') }))}</dl>`
}

/** One table for the errors of all operations. */
function renderErrorTable(api: ApiDescription): Html {
  const responses = operationsOf(api).flatMap(({ responses }) => Object.entries(responses))
  // The table leaves out headers that successful responses have as well: they do not explain the error.
  const common = responses.flatMap(([status, { headers }]) => (status < '400' ? Object.keys(headers) : []))
  const errors = new Map(
    responses.flatMap(([status, response]) => (status < '400' ? [] : [[errorCode(response), response]])),
  )
  return html`<table><thead class="visually-hidden"><tr><th scope="col">Status</th><th scope="col">Code</th></tr></thead>
<tbody>${Object.entries(STATUS_OF).map(([code, status]) => {
    // The document describes operations, so it has no response for a method that a path does not support.
    const { description, headers } = errors.get(code) ?? METHOD_NOT_ALLOWED
    const names = Object.keys(headers).filter(name => !common.includes(name))
    return html`<tr id="error-${code}" data-title="${status} ${code}"><td>${status}</td><td><code>${code}</code><br><span>${renderMarkdown(description)}</span>${names.length > 0 && html` <small>Header: ${names.map(name => html`<code>${name}</code> `)}</small>`}</td></tr>`
  })}</tbody></table>`
}

const METHOD_NOT_ALLOWED = { description: 'The path does not support this method.', headers: { Allow: '' } }
