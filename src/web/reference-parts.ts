// The parts that all sections of the API reference consist of: headings, code, descriptions and fields.

import type { Environment } from '../api-key.ts'
import { INT64_MAX, INT64_MIN } from '../int64.ts'
import { type ApiDescription, bodyOf, type Header, type Response, type Schema } from './api-description.ts'
import { type Html, html } from './html.ts'
import { icon } from './icons.ts'
import { tokenizeLines } from './samples/highlight.ts'
import { describeRun, LANGUAGES, type Language } from './samples/languages.ts'

/** What all parts of the page are rendered from. */
export interface ReferenceOptions {
  readonly api: ApiDescription
  readonly environment: Environment
  /** The base URL of the API in this environment. */
  readonly baseUrl: string
  /** The date of the removal of the deprecated operation, in words. */
  readonly removal: string
}

/** A section of the page: text, and code beside it. */
export interface Section {
  readonly id: string
  readonly title: string
  readonly text: Html
  readonly code?: Html | undefined
  /** Other words by which the search finds it, separated by commas. */
  readonly keywords?: string
}

export function renderSection({ id, title, text, code, keywords }: Section): Html {
  return html`<section id="${id}"${renderKeywords(keywords)}><div class="text"><h2><a href="#${id}">${title}</a></h2>${text}</div>${code !== undefined && html`<div class="code"><div>${code}</div></div>`}</section>`
}

/** An attribute, because only the script of the search reads it: neither the page nor a screen reader shows it. */
export function renderKeywords(keywords: string | undefined): Html | false {
  return keywords !== undefined && html` data-keywords="${keywords}"`
}

/** A heading within a section. It links to itself. */
export function renderSubheading(id: string, title: string): Html {
  return html`<h3 id="${id}"><a href="#${id}">${title}</a></h3>`
}

/** A block of code with a button that copies it. */
export function renderCode(syntax: string, text: string, title: string, id?: string): Html {
  return html`<div class="block"${id !== undefined && html` id="${id}"`}><p>${title}</p>${renderCopyButton(title)}<pre><code>${renderTokens(syntax, text)}</code></pre></div>`
}

interface Samples {
  readonly id: string
  /** The name of the file, without its extension. */
  readonly file: string
  readonly title?: string
  readonly sample: (language: Language) => string
}

/** One block for all languages. The style sheet shows the one whose button is selected, so it works without a script. */
export function renderSamples({ id, file, title, sample }: Samples): Html {
  return html`<div class="block samples">${title !== undefined && html`<p>${title}</p>`}<fieldset class="languages row"><legend class="visually-hidden">Language of the sample</legend>${LANGUAGES.map(({ id: language, label }, index) => html`<label><input class="visually-hidden" type="radio" name="${id}-language" value="${language}"${index === 0 && html` checked`}>${label}</label>`)}</fieldset>
${LANGUAGES.map(language => html`<p class="run" data-language="${language.id}">${describeRun(language, file)}${language.id === 'typescript' && html` · needs Node.js 24 and <a href="#install">the client</a>`}</p>`)}
${renderCopyButton(title ?? 'sample')}${LANGUAGES.map(language => html`<pre data-language="${language.id}" tabindex="0"><code>${renderTokens(language.syntax, sample(language))}</code></pre>`)}</div>`
}

export function renderCopyButton(what: string): Html {
  return html`<button class="icon-button copy" type="button" aria-label="Copy: ${what}" title="Copy">${icon('copy')}${icon('check')}</button>`
}

/** Code with its tokens. Each line is an element, so that a line that wraps can be indented. */
export function renderTokens(syntax: string, text: string): Html[] {
  return tokenizeLines(syntax, text).map(
    tokens =>
      html`<span class="line">${tokens.map(({ kind, text }) => (kind === undefined ? text : html`<span class="${kind}">${text}</span>`))}</span>`,
  )
}

/** The descriptions are Markdown. Code is the only syntax that they use. */
export function renderMarkdown(text: string): Html {
  return html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`
}

export function renderMethod(method: string): Html {
  return html`<span class="method ${method.toLowerCase()}">${method}</span>`
}

interface Member {
  readonly id: string
  readonly name: string
  /** Its type and limits. */
  readonly details?: Html | undefined
  readonly isRequired?: boolean | undefined
  readonly text: Html
  /** The field of a parameter. Its id is that of the member with `-value`. */
  readonly field?: Html
}

/** A parameter, an attribute or a header, with a link to it. */
export function renderMember({ id, name, details, isRequired, text, field }: Member): Html {
  const term = html`<code>${name}</code>`
  return html`<div id="${id}" data-title="${name}"><dt>${field === undefined ? term : html`<label for="${id}-value">${term}</label>`} <small>${details}</small>${isRequired && html` <small class="warning">required</small>`} <a class="anchor" href="#${id}" aria-label="Link to ${name}">#</a></dt>${field !== undefined && html`<dd class="value">${field}</dd>`}<dd>${text}</dd></div>`
}

/** The members of a schema. `prefix` begins their ids. */
export function renderMembers(prefix: string, { properties = {}, required = [] }: Schema): Html {
  return html`<dl class="members">${Object.entries(properties).map(([name, schema]) =>
    renderMember({
      id: `${prefix}-${name}`,
      name,
      details: describeType(schema),
      isRequired: required.includes(name),
      text: renderMarkdown(describeMember(schema)),
    }),
  )}</dl>`
}

/** Headers of a response. `prefix` begins their ids. */
export function renderHeaders(prefix: string, headers: Readonly<Record<string, Header | undefined>>): Html {
  return html`<dl class="members">${Object.entries(headers).map(([name, header]) =>
    renderMember({
      id: `${prefix}-${name}`,
      name,
      details:
        header?.schema.const === undefined ? undefined : html`always <code>${header.schema.const}</code>`,
      text: renderMarkdown(header?.description ?? ''),
    }),
  )}</dl>`
}

/** The code of an error response, from its example. */
export function errorCode(response: Response): string {
  return (bodyOf(response.content ?? {}).example as { code: string }).code
}

/** A type with a name has its own section, so the first sentence of its description is enough here. */
function describeMember({ name, description = '' }: Schema): string {
  return name === undefined ? description : description.replace(/\. .*/, '.')
}

/** The type of a value, and its limits. */
export function describeType(schema: Schema): Html {
  const { enum: values, minLength, maxLength, maxItems, default: defaultValue } = schema
  const limits = [
    values?.map(String).join(' | '),
    describeRange(schema),
    minLength !== undefined && `${minLength} to ${maxLength} characters`,
    maxItems !== undefined && `at most ${maxItems}`,
    defaultValue !== undefined && `default ${defaultValue}`,
  ].filter(limit => limit !== undefined && limit !== false)
  return html`${renderType(schema)}${limits.map(limit => ` · ${limit}`)}`
}

/** A link if the type has a name. */
export function renderType({ name, type, format, items }: Schema): Html {
  if (name !== undefined) return html`<a href="#${name}">${name}</a>`
  if (items !== undefined) return html`array of ${renderType(items)}`
  return html`${[type].flat().join(' or ')}${format !== undefined && ` (${format})`}`
}

/** The limits of an int64 say no more than its format, which precedes them. */
function describeRange({ minimum, maximum }: Schema): string | undefined {
  if (minimum === undefined || minimum === INT64_MIN) return undefined
  return maximum === undefined || maximum === INT64_MAX ? `at least ${minimum}` : `${minimum} to ${maximum}`
}
