// The errors of the API reference: one table for all operations.

import { STATUS_OF } from '../error.ts'
import { type ApiDescription, jsonOf, operationsOf, resolveResponse } from './api-description.ts'
import { type Html, html } from './html.ts'
import { renderMarkdown } from './reference-parts.ts'

interface ErrorDescription {
  readonly when: string
  /** The headers that this error adds. */
  readonly headers: readonly string[]
}

/** The OpenAPI document describes operations, so it has no response for a method that a path does not support. */
const METHOD_NOT_ALLOWED: ErrorDescription = {
  when: 'The path does not support this method.',
  headers: ['Allow'],
}

export function renderErrorTable(api: ApiDescription): Html {
  const described = describeErrors(api)
  return html`<table><thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">When</th></tr></thead>
<tbody>${Object.entries(STATUS_OF).map(([code, status]) => {
    const { when, headers } = described.get(code) ?? METHOD_NOT_ALLOWED
    return html`<tr id="error-${code}"><td>${status}</td><th scope="row"><code>${code}</code></th><td>${renderMarkdown(when)}${headers.length > 0 && html` <small>Header: ${headers.map(name => html`<code>${name}</code> `)}</small>`}</td></tr>`
  })}</tbody></table>`
}

function describeErrors(api: ApiDescription): Map<string, ErrorDescription> {
  const responses = operationsOf(api).flatMap(({ responses }) =>
    Object.entries(responses).map(([status, response]) => ({
      isError: status >= '400',
      ...resolveResponse(api, response),
    })),
  )
  // The table leaves out headers that successful responses have as well: they do not explain the error.
  const common = new Set(
    responses.filter(({ isError }) => !isError).flatMap(({ headers }) => Object.keys(headers)),
  )
  return new Map(
    responses
      .filter(({ isError }) => isError)
      .map(response => {
        const { code } = jsonOf(response).example as { code: string }
        const headers = Object.keys(response.headers).filter(name => !common.has(name))
        return [code, { when: response.description, headers }]
      }),
  )
}
