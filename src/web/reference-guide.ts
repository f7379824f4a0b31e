// The guide of the API reference: what all operations have in common.

import { KEY_PREFIX } from '../api-key.ts'
import { HTTP_STATUS_OF } from '../error.ts'
import { IDEMPOTENCY_WINDOW_HOURS } from '../idempotency.ts'
import { INT64_MAX } from '../int64.ts'
import { renderJson } from '../json.ts'
import { formatNumber } from '../number-format.ts'
import { MAX_EXAMINED, PAGE_LIMIT } from '../page.ts'
import { type ApiDescription, bodyOf, commonHeaders, operationsOf, type Response } from './api-description.ts'
import { type Html, html } from './html.ts'
import {
  errorCode,
  type ReferenceOptions,
  renderCode,
  renderHeaders,
  renderMarkdown,
  renderSamples,
  type Section,
} from './reference-parts.ts'
import { CHANGE_SAMPLES, ERROR_SAMPLES, PAGING_SAMPLES } from './samples/guide.ts'
import { withClient } from './samples/languages.ts'
import { KEY_VARIABLE } from './samples/sample-request.ts'

export function guideSections({ api, environment, baseUrl, removal }: ReferenceOptions): readonly Section[] {
  const { PageLinks, ETag, RateLimitPolicy, RateLimit, Deprecation, Sunset, DeprecationLinks } =
    api.components.headers
  return [
    {
      id: 'start',
      title: 'Start',
      keywords: 'install, quickstart, getting started, client, sdk, base url, bigint',
      text: html`<p>${renderMarkdown(api.info.description)}</p>
<dl class="pairs">${api.servers.map(({ url, description }) => html`<dt>${description}</dt><dd><code>${url}</code></dd>`)}<dt>API version</dt><dd>${api.info.version}</dd></dl>
<p>Store your API key in the environment variable <code>${KEY_VARIABLE}</code>: the samples read it from there. Or send requests from this page: it asks once for the key. The <a href="./">catalogue</a> shows the same animals. Code generators can use the <a href="./openapi.json">OpenAPI document</a>.</p>
<p>Any HTTP client works. Note that <code>id</code> and <code>categoryId</code> are 64-bit integers: <code>JSON.parse</code> in JavaScript rounds large ones. The client for JavaScript and TypeScript, <code>animal-store-client</code>, returns them exactly, retries safely and has no dependencies. To install it, pack it in a checkout of the repository, and install the file in your project.</p>
<details id="headers"><summary>Headers of every successful response</summary>${renderHeaders('headers', commonHeaders(api))}</details>`,
      code: html`${renderCode('shell', `export ${KEY_VARIABLE}='${KEY_PREFIX[environment]}…'\ncurl '${baseUrl}/pets' \\\n  -H "Authorization: Bearer $${KEY_VARIABLE}"`, 'First request')}
${renderCode('json', renderJson(firstAnswer(api), 2), 'Response: 200')}
${renderCode('shell', 'npm ci\nnpm pack --workspace client --pack-destination ~', 'Pack the client, in a checkout of the repository', 'install')}
${renderCode('shell', 'npm install ~/animal-store-client-*.tgz', 'Install the client, in your project')}`,
    },
    {
      id: 'authentication',
      title: 'Authentication',
      keywords: 'api key, bearer, token, credentials, login, permissions, read-only',
      text: html`<p>Send an API key with every request, as a bearer token in the <code>Authorization</code> header. A key in the URL or in a cookie does not count. ${renderMarkdown(api.components.securitySchemes.apiKey?.description ?? '')}</p>
<p>The key is checked before the path, the method, the query and the body: without a valid one, every path below <code>/v1</code> answers <a href="#error-unauthorized">401</a>, and does not say why. Ask whoever runs the service for a key. <code>animal-store keys create --name my-program</code> creates one, and shows it once. With <code>--read-only</code>, the key may only read: a write gets <a href="#error-forbidden">403</a>.</p>
<p>Keep your key secret: load it from the environment, and do not write it into your code.</p>`,
      code: html`${renderCode('http', `Authorization: Bearer ${KEY_PREFIX[environment]}…`, 'Request header')}
${renderCode('shell', `curl --include '${baseUrl}/pets' \\\n  -H 'Authorization: Bearer wrong'`, 'A key that is not valid')}
${renderError(api.components.responses.Unauthorized)}`,
    },
    {
      id: 'paging',
      title: 'Paging',
      keywords: 'pagination, cursor, sort, sorting, order, offset, newest, next page',
      text: html`<p><a href="#listPets">List animals</a> returns a page of <code>limit</code> animals by ascending id: ${PAGE_LIMIT.default} unless you ask for another number, and at most ${PAGE_LIMIT.maximum}. While you read page after page, others may add, change and remove animals: a change moves no animal in this order, and none appears twice. A removed one is gone from then on, and its id is never given again.</p>
<p><strong>Forwards</strong>: <code>after</code> takes the last id of a page and returns the animals that follow. <strong>Backwards</strong>: <code>before</code> takes the first id of a page and returns the animals that precede it. <code>before=${INT64_MAX}</code>, the largest id, returns the newest animals.</p>
<p>You need not build these URLs: each page has them in a header. They keep <code>limit</code> and all filters. Follow them until there is none.</p>
${renderHeaders('paging', { Link: PageLinks })}
<p>PostgreSQL assigns ids before it commits: of two animals that are added at the same time, the one with the larger id may appear first. If you have read past it by then, you do not see the smaller id until you list from the start again. This cannot happen on SQLite.</p>`,
      code: html`${renderCode('http', `Link: ${PageLinks?.example ?? ''}`.replaceAll(', <', ',\n  <'), 'Response header')}
${renderCode('shell', `curl '${baseUrl}/pets?limit=5&before=${INT64_MAX}' \\\n  -H "Authorization: Bearer $${KEY_VARIABLE}"`, 'The five newest animals')}
${renderSamples({ id: 'paging', file: 'pages', title: 'All animals', sample: ({ id }) => PAGING_SAMPLES[id](baseUrl) })}`,
    },
    {
      id: 'searching',
      title: 'Searching and counting',
      keywords: 'filter, query, find, total',
      text: html`<p><a href="#listPets">List animals</a> searches too: <code>name</code> keeps the animals whose name contains a text, whatever its case and accents, and <code>categoryId</code> those of a category. All filters combine, also with <code>limit</code>, <code>after</code> and <code>before</code>. Send the text as percent-encoded UTF-8.</p>
<p>A search is bounded: one request examines at most ${formatNumber(MAX_EXAMINED)} animals. So a page may be shorter than <code>limit</code>, or empty, although more animals match. Do not stop there: follow <code>rel="next"</code> until there is none, or <code>rel="prev"</code> to search backwards. This finds every match that was there when you began and that nobody changed or removed meanwhile, once. <code>animals</code> of our client does this by itself.</p>
<p><a href="#getInventory">Count animals by status</a> returns how many animals there are. You need not list them.</p>`,
      code: html`${renderCode('shell', `curl --include --get '${baseUrl}/pets' \\\n  -H "Authorization: Bearer $${KEY_VARIABLE}" \\\n  --data-urlencode 'name=zoë'`, 'Search for a name')}
${renderCode('http', 'Link: </v1/pets?limit=20&name=zo%C3%AB&after=10000>; rel="next"', 'Header of an empty page that is not the last')}
${renderCode('javascript', withClient(baseUrl, "for await (const animal of store.animals({ name: 'zoë' })) {", '  console.log(animal.id, animal.name)', '}'), 'All matches, with the client')}`,
    },
    {
      id: 'idempotency',
      title: 'Idempotency',
      keywords: 'retry, retries, repeat, duplicate',
      text: html`<p>A connection can break after the service has stored what you sent and before you have the answer. Send an <code>Idempotency-Key</code> with every request that writes: <a href="#createPet">add</a>, <a href="#updatePet">change</a> or <a href="#deletePet">remove</a> an animal. Use a new value for each write, such as a random one, and the same value when you repeat it.</p>
<p>For ${IDEMPOTENCY_WINDOW_HOURS} hours, the same key with the same request gets the first answer again, with the header <code>Idempotent-Replayed: true</code>, and nothing is written a second time, whatever happened to the animal since. The same key with another request gets <a href="#error-idempotency_key_reused">422</a>: another operation, animal, condition or value. Only successes are remembered.</p>
<p>So the retry of a change with a <a href="#conditions">condition</a> gets 200, and not a conflict with the change that it repeats. Without a key, 404 to the retry of a removal means that the animal is removed.</p>
<p>Our client does this by itself.</p>`,
      code: html`${renderCode('shell', `curl --include --retry 5 --retry-all-errors '${baseUrl}/pets' \\\n  -H "Authorization: Bearer $${KEY_VARIABLE}" \\\n  -H 'Content-Type: application/json' \\\n  -H 'Idempotency-Key: delivery-1042-bella' \\\n  --data-raw '{"name": "Bella", "categoryId": 7}'`, 'Retry without adding twice')}
${renderCode('shell', `curl --include --retry 5 --retry-all-errors -X DELETE '${baseUrl}/pets/2' \\\n  -H "Authorization: Bearer $${KEY_VARIABLE}" \\\n  -H 'Idempotency-Key: remove-animal-2'`, 'Retry a removal')}
${renderCode('http', 'Idempotent-Replayed: true', 'Header of a repeated response')}`,
    },
    {
      id: 'conditions',
      title: 'Change without undoing others',
      keywords:
        'lost update, conditional changes, concurrency, optimistic locking, race, sell, sell twice, reserve, etag, retry',
      text: html`<p>You read an animal, somebody else changes it, and your change undoes theirs: a lost update. Send a condition with a <a href="#updatePet">change</a> or <a href="#deletePet">removal</a>, and it is made only if the animal is as you have seen it. The service checks the condition in one step with the write: of two requests at the same time, the second sees what the first has left.</p>
<p>Without a condition, a change sets the members that it has, and leaves the others as they are. So send only what you want to change.</p>
<p><strong>By status</strong>, to sell or reserve: <code>ifStatus=available</code> writes only if this is the animal's status. Otherwise the answer is <a href="#error-conflict">409</a>, its message names the status, and nothing is changed. So an animal is not sold twice. <code>none</code> means that it has no status.</p>
<p><strong>By version</strong>, to edit: send the <code>ETag</code> of the animal as <code>If-Match</code>. If anything about the animal is different, the answer is <a href="#error-precondition_failed">412</a>, and nothing is changed: look at the animal again, and decide again. Lists have no tags: a change with the body <code>{}</code> changes nothing, and returns the animal with its tag. In our client, the tag is <code>etag</code> of the animal. It is a digest: the same values always have the same tag. A proxy that compresses answers may turn it into a weak one (<code>W/"…"</code>), which <code>If-Match</code> never accepts.</p>
<p><strong>Retries</strong>: if there is no answer, or one of 500 and above, the change may be stored nevertheless. Send it again with the same condition and the same <a href="#idempotency"><code>Idempotency-Key</code></a>: you get the first answer, and not a conflict with yourself. 409 and 412 are answers: the same request would get them again.</p>
<p>Why it works like this: <code>status-condition.md</code>, <code>entity-tags.md</code> and <code>idempotency.md</code> in <code>docs/decisions</code> of the repository.</p>`,
      code: html`${renderCode('shell', `curl --retry 5 --retry-all-errors -X PATCH '${baseUrl}/pets/1?ifStatus=available' \\\n  -H "Authorization: Bearer $${KEY_VARIABLE}" \\\n  -H 'Content-Type: application/merge-patch+json' \\\n  -H 'Idempotency-Key: order-1042-animal-1-sold' \\\n  --data-raw '{"status": "sold"}'`, 'Sell an animal only once')}
${renderError(api.components.responses.Conflict)}
${renderSamples({ id: 'conditions', file: 'change', title: 'Change an animal only as you have seen it', sample: ({ id }) => CHANGE_SAMPLES[id](baseUrl) })}
${renderCode('http', `ETag: ${ETag?.example ?? ''}`, 'Response header')}`,
    },
    {
      id: 'errors',
      title: 'Errors',
      keywords: 'failure, exception, status code',
      text: html`<p>Every response of 400 and above has one JSON object, the <a href="#ErrorObject">ErrorObject</a>. Programs read <code>code</code>; <code>message</code> is for people, and its wording may change. Further codes may be added: if you do not know a code, decide by its status.</p>
<p>Every response has an <code>X-Request-Id</code>. Quote it when you ask for help.</p>
${renderErrorTable(api)}
<p>A path that does not exist gets <code>not_found</code> too.</p>`,
      code: html`${renderSamples({ id: 'errors', file: 'errors', title: 'Read an error', sample: ({ id }) => ERROR_SAMPLES[id](baseUrl) })}
${renderError(api.components.responses.InvalidRequest)}`,
    },
    {
      id: 'rate-limits',
      title: 'Rate limits',
      keywords: 'throttling, quota, too many requests, backoff, retry-after',
      text: html`<p>The service may limit the requests of each API key. Every answer to a valid key then has two headers.</p>
${renderHeaders('rate-limits', { 'RateLimit-Policy': RateLimitPolicy, RateLimit })}
<p>Beyond the limit, the answer is <a href="#error-rate_limited">429</a>, and nothing is stored. After this answer, and after <a href="#error-unavailable">503</a>, wait for the number of seconds in <code>Retry-After</code> before you send again.</p>`,
      code: html`${renderCode('http', `RateLimit-Policy: ${RateLimitPolicy?.example}\nRateLimit: ${RateLimit?.example}`, 'Response headers')}
${renderError(api.components.responses.TooManyRequests, 'Retry-After: 1')}`,
    },
    {
      id: 'deprecation',
      title: 'Deprecation',
      keywords: 'sunset, versioning, breaking changes',
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
  const { responses } = operationsOf(api).find(({ operationId }) => operationId === 'listPets') ?? {}
  const content = responses?.['200']?.content
  return content && bodyOf(content).example
}

/** An error response, as it arrives. */
function renderError(response: Response | undefined, header = '') {
  if (response?.content === undefined) return html``
  const { example } = bodyOf(response.content)
  const { status } = example as { status: number }
  return renderCode(
    'json',
    `${header === '' ? '' : `${header}\n\n`}${renderJson(example, 2)}`,
    `Response: ${status}`,
  )
}

/** One table for the errors of all operations. */
function renderErrorTable(api: ApiDescription): Html {
  const responses = operationsOf(api).flatMap(({ method, responses }) =>
    Object.entries(responses).map(([status, response]) => ({ method, status, response })),
  )
  // The table leaves out headers that successful responses have as well: they do not explain the error.
  const common = new Set(
    responses.flatMap(({ status, response }) => (status < '400' ? Object.keys(response.headers) : [])),
  )
  const errors = Map.groupBy(
    responses.filter(({ status }) => status >= '400'),
    ({ response }) => errorCode(response),
  )
  return html`<table><thead class="visually-hidden"><tr><th scope="col">Status</th><th scope="col">Code</th></tr></thead>
<tbody>${Object.entries(HTTP_STATUS_OF).map(([code, status]) => {
    // The document describes operations, so it has no response for a method that a path does not support.
    const found = errors.get(code) ?? [{ method: '', response: METHOD_NOT_ALLOWED }]
    const methods = new Map(found.map(({ method, response }) => [response.description, method]))
    const [description = ''] = methods.keys()
    const text =
      methods.size === 1
        ? description
        : [...methods].map(([each, method]) => `\`${method}\`: ${each}`).join(' ')
    const headers = new Set(found.flatMap(({ response }) => Object.keys(response.headers))).difference(common)
    return html`<tr id="error-${code}" data-title="${status} ${code}"><td>${status}</td><td><code>${code}</code><br><span>${renderMarkdown(text)}</span>${headers.size > 0 && html` <small>Header: ${[...headers].map(name => html`<code>${name}</code> `)}</small>`}</td></tr>`
  })}</tbody></table>`
}

const METHOD_NOT_ALLOWED = { description: 'The path does not support this method.', headers: { Allow: '' } }
