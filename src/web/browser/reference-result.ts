// Shows the response to a request of the API reference, without rounding any number. Errors have their own style.

import { tokenize } from '../samples/highlight.ts'
import { createElement, formatNumber } from './elements.ts'

export interface Answer {
  readonly status: number
  readonly statusText: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly text: string
  readonly ms: number
}

/** An answer, or the reason why there is none. */
export type Result = Answer | { readonly failure: string }

export function showResult(output: HTMLOutputElement, result: Result): void {
  if ('failure' in result) {
    output.className = 'refused'
    output.replaceChildren(
      createElement('strong', {}, 'No response'),
      ` The request failed: ${result.failure}`,
    )
    return
  }
  const { status, statusText, headers, text, ms } = result
  output.className = status >= 400 ? 'refused' : 'accepted'
  const outcome = status >= 500 ? 'Failed: ' : status >= 400 ? 'Refused: ' : ''
  output.replaceChildren(
    createElement('strong', {}, `${outcome}${status} ${statusText}`.trim()),
    createElement('span', { class: 'time' }, ` in ${formatNumber(Math.round(ms))} ms`),
    renderPart('Headers', 'http', headers.map(([name, value]) => `${name}: ${value}`).join('\n')),
    renderPart('Body', 'json', indentJson(text)),
  )
}

/** Elements with the tokens of the code. */
export function highlight(syntax: string, text: string): (HTMLElement | string)[] {
  return tokenize(syntax, text).map(({ kind, text }) =>
    kind === undefined ? text : createElement('span', { class: kind }, text),
  )
}

/** Screen readers announce the status only. They read the rest when the user goes there. */
function renderPart(title: string, syntax: string, text: string): HTMLElement {
  return createElement(
    'span',
    { class: 'part', 'aria-live': 'off' },
    createElement('span', { class: 'title' }, title),
    createElement('code', { tabindex: '0', class: title.toLowerCase() }, ...highlight(syntax, text)),
  )
}

/** Indents JSON without parsing it, because parsing would round large integers. */
function indentJson(json: string): string {
  let depth = 0
  return json.replace(/"(?:[^"\\]|\\.)*"|\[\]|\{\}|[{}[\],:]/g, token => {
    if (token === ':') return ': '
    if (token === ',') return `,\n${'  '.repeat(depth)}`
    if (token === '{' || token === '[') return `${token}\n${'  '.repeat(++depth)}`
    if (token === '}' || token === ']') return `\n${'  '.repeat(--depth)}${token}`
    return token
  })
}
