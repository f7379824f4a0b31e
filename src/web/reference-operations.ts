// The operations of the API reference: parameters with their fields, samples, the form's result, and the responses.

import { renderJson } from '../json.ts'
import {
  type ApiDescription,
  headersOf,
  jsonOf,
  type LocatedOperation,
  type Parameter,
  type Response,
  resolveResponse,
  resolveSchema,
} from './api-description.ts'
import { type Html, html } from './html.ts'
import {
  COPY_BUTTON,
  describeLimits,
  renderHeading,
  renderMarkdown,
  renderMembers,
  renderMethod,
  renderSubheading,
  renderTokens,
  renderType,
} from './reference-parts.ts'
import { LANGUAGES } from './samples/languages.ts'
import { buildRequest, type Field } from './samples/request.ts'

export function renderOperation(
  api: ApiDescription,
  operation: LocatedOperation,
  baseUrl: string,
  removal: string,
): Html {
  const { operationId, summary, description, deprecated, parameters, path, method, responses } = operation
  const all = Object.entries(responses)
  const successes = all.filter(([status]) => status < '400')
  const errors = all.filter(([status]) => status >= '400')
  return html`<section class="operation" id="${operationId}"><form data-operation="${operationId}" data-method="${method}" data-path="v1${path}">
<div class="text">${renderHeading(operationId, summary)}
<p class="target">${renderMethod(method)} <code>/v1${path}</code> <small>${operationId}</small>${deprecated && html` <span class="deprecated">deprecated, will be removed on ${removal}</span>`}</p>
<p>${renderMarkdown(description)}</p>
${renderSubheading(summary, `${operationId}-parameters`, 'Parameters')}
<dl class="members">${parameters.map(parameter => renderParameter(api, operationId, parameter))}</dl>
${renderBody(api, operation)}</div>
<div class="code"><div>${renderSamples(operation, baseUrl)}
<div class="send"><button class="primary" type="submit">Send</button><small>${method} <span class="url">/v1${path}</span></small></div>
<output hidden></output></div></div>
<div class="text">${successes.map(([status, response]) => renderSuccess(api, operation, status, resolveResponse(api, response)))}
${renderSubheading(summary, `${operationId}-errors`, 'Errors')}
<p class="errors">${errors.map(([status, response]) => {
    const { code } = jsonOf(resolveResponse(api, response)).example as { code: string }
    return html`<a href="#error-${code}" title="${code}">${status}</a> `
  })}</p></div>
</form></section>`
}

function renderParameter(api: ApiDescription, operationId: string, parameter: Parameter): Html {
  const { name, in: place, required, description, example } = parameter
  const schema = resolveSchema(api, parameter.schema)
  const id = `${operationId}-${name}`
  const field = schema.enum
    ? html`<select id="${id}" name="${name}" data-in="${place}"><option value="">any</option>${schema.enum.map(value => html`<option>${value}</option>`)}</select>`
    : html`<input id="${id}" name="${name}" data-in="${place}" value="${example ?? ''}" autocomplete="off" spellcheck="false" placeholder="${schema.default ?? ''}"${required && html` required`}>`
  return html`<div><dt><label for="${id}"><code>${name}</code></label> <small>${renderType(api, parameter.schema)}${describeLimits(schema)} · ${place}</small>${required && html` <small class="required">required</small>`}</dt>
<dd>${renderMarkdown(description)}</dd><dd class="value">${field}</dd></div>`
}

function renderBody(
  api: ApiDescription,
  { operationId, summary, requestBody }: LocatedOperation,
): Html | undefined {
  if (requestBody === undefined) return undefined
  const { schema, example } = jsonOf(requestBody)
  const id = `${operationId}-body`
  return html`${renderSubheading(summary, `${operationId}-members`, 'Body')}
<p><label for="${id}">${renderMarkdown(requestBody.description)}</label> It is a ${renderType(api, schema)}, as <code>application/json</code>.</p>
<textarea class="value" id="${id}" name="body" data-in="body" rows="5" spellcheck="false">${renderJson(example, 2)}</textarea>
${renderMembers(api, resolveSchema(api, schema))}`
}

/** All languages. The style sheet shows the one whose button is selected, so that this works without a script. */
function renderSamples(operation: LocatedOperation, baseUrl: string): Html {
  const { operationId, path, method } = operation
  const request = buildRequest({ operationId, method, path, baseUrl, fields: initialFields(operation) })
  return html`<div class="samples"><fieldset class="languages"><legend class="visually-hidden">Language of the sample</legend>${LANGUAGES.map(({ id, label }, index) => html`<label><input type="radio" name="${operationId}-language" value="${id}"${index === 0 && html` checked`}>${label}</label>`)}</fieldset>
${COPY_BUTTON}${LANGUAGES.map(({ id, syntax, render }) => html`<pre data-language="${id}" tabindex="0"><code>${renderTokens(syntax, render(request))}</code></pre>`)}</div>`
}

/** The values that the form has at first. */
function initialFields({ parameters, requestBody }: LocatedOperation): Field[] {
  const fields = parameters.map(({ name, in: place, example }) => ({
    name,
    in: place,
    value: String(example ?? ''),
  }))
  if (requestBody === undefined) return fields
  return [...fields, { name: 'body', in: 'body', value: renderJson(jsonOf(requestBody).example, 2) }]
}

function renderSuccess(
  api: ApiDescription,
  { operationId, summary }: LocatedOperation,
  status: string,
  response: Response,
): Html {
  const { schema, example } = jsonOf(response)
  const item = 'items' in schema && schema.items !== undefined ? schema.items : schema
  return html`${renderSubheading(summary, `${operationId}-${status}`, `Response ${status}`)}
<p>${renderMarkdown(response.description)}</p>
<details open><summary>Body</summary><p>${renderType(api, schema)}${describeLimits(resolveSchema(api, schema))}</p>${renderMembers(api, resolveSchema(api, item))}</details>
<details><summary>Example</summary><pre tabindex="0"><code>${renderTokens('json', renderJson(example, 2))}</code></pre></details>
<details><summary>Headers</summary><dl class="members">${[...headersOf(api, response)].map(([name, { description, schema }]) => html`<div><dt><code>${name}</code>${schema.const !== undefined && html` <small>always <code>${schema.const}</code></small>`}</dt><dd>${renderMarkdown(description)}</dd></div>`)}</dl></details>`
}
