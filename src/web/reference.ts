// The HTML of the API reference: a guide, and the content of the OpenAPI document with a form to try each operation.

import { type Environment, KEY_PREFIX } from '../api-key.ts'
import { renderJson } from '../json.ts'
import { type ApiDescription, exampleOf, operationsOf, type Schema } from './api-description.ts'
import { type Html, html } from './html.ts'
import { icon } from './icons.ts'
import { guideSections } from './reference-guide.ts'
import { renderOperation } from './reference-operations.ts'
import {
  describeLimits,
  renderCode,
  renderHeading,
  renderMarkdown,
  renderMembers,
  renderMethod,
  renderSection,
  renderType,
} from './reference-parts.ts'

export interface RenderedReference {
  readonly content: Html
  /** The table of contents, which is a drawer on small screens. */
  readonly navigation: Html
  /** The button that opens the drawer. */
  readonly tools: Html
}

/** The samples use the server of `environment`. */
export function renderReference(api: ApiDescription, environment: Environment): RenderedReference {
  const server = api.servers.find(({ description }) => description.toLowerCase() === environment)
  const baseUrl = server?.url ?? ''
  const removal = formatDate(api.components.headers.Sunset?.schema.const ?? '')
  const guide = guideSections({ api, environment, baseUrl, removal })
  const operations = operationsOf(api)
  const schemas = Object.entries(api.components.schemas)
  return {
    tools: html`<button id="show-contents" class="icon-button" type="button" popovertarget="contents" aria-label="Contents" title="Contents">${icon('menu')}</button>`,
    navigation: html`<nav id="contents" popover aria-label="Contents">
<div class="search needs-script">${icon('search')}<label class="visually-hidden" for="search">Search the reference</label><input id="search" type="search" autocomplete="off" spellcheck="false" placeholder="Search" aria-keyshortcuts="/"><kbd aria-hidden="true">/</kbd></div>
<p id="no-match" role="status"></p>
<h2>Guide</h2><ul>${guide.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul>
<h2>Operations</h2><ul>${operations.map(({ operationId, summary, method, deprecated }) => html`<li><a href="#${operationId}"><span>${summary}${deprecated && html` <small class="until">until ${removal}</small>`}</span>${renderMethod(method)}</a></li>`)}</ul>
<h2>Schemas</h2><ul>${schemas.map(([name]) => html`<li><a href="#${name}">${name}</a></li>`)}</ul>
</nav>`,
    content: html`<div id="top"><h1>API reference</h1>
<div id="key" class="needs-script"><label for="api-key">API key</label><input id="api-key" type="password" autocomplete="off" spellcheck="false" placeholder="${KEY_PREFIX[environment]}…" aria-describedby="key-hint"><div class="check"><input id="show-key" type="checkbox"><label for="show-key">Show my key in the samples</label></div><small id="key-hint">Not stored: the key is gone when you leave this page.</small></div></div>
<noscript><p>Without JavaScript, this page cannot send requests, search or copy.</p></noscript>
${guide.map(renderSection)}
${operations.map(operation => renderOperation(api, operation, baseUrl, removal))}
${schemas.map(([name, schema]) => renderSchema(api, name, schema))}`,
  }
}

function renderSchema(api: ApiDescription, name: string, schema: Schema): Html {
  const hasMembers = schema.properties !== undefined
  const example = exampleOf(api, name)
  return html`<section id="${name}"><div class="text">${renderHeading(name, name)}
<p><small>${renderType(api, schema)}${describeLimits(schema)}</small></p><p>${renderMarkdown(schema.description ?? '')}</p>
${hasMembers && renderMembers(api, schema)}</div><div class="code">${example !== undefined && html`<div>${renderCode('json', renderJson(example, 2), 'Example')}</div>`}</div></section>`
}

function formatDate(date: string): string {
  return new Date(date).toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
}
