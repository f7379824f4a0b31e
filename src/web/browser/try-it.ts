// The forms of the API reference: the samples follow their values, and "Send" shows the response in place of the example.

import { tokenize } from '../samples/highlight.ts'
import { LANGUAGES } from '../samples/languages.ts'
import { buildRequest, type SampleRequest } from '../samples/request.ts'
import { createElement, formatNumber } from './elements.ts'
import type { KeyField } from './reference-key.ts'

const TIMEOUT_MS = 30_000

const API_PATH = 'v1'

interface Answer {
  readonly status: number
  readonly statusText: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly text: string
  readonly ms: number
}

/** An answer, or the reason why there is none. */
type Result = Answer | { readonly failure: string }

export function enableForm(form: HTMLFormElement, key: KeyField): void {
  const part = <Kind extends Element>(selector: string) => {
    const found = form.querySelector<Kind>(selector)
    if (found === null) throw new Error(`the form has no ${selector}`)
    return found
  }
  const output = part<HTMLOutputElement>('output')
  const url = part('.url')
  const sendButton = part<HTMLButtonElement>('.send button')
  const showResponse = createResponseBlock(part('.response'))
  const idempotencyKey = form.querySelector<HTMLInputElement>('[name=Idempotency-Key]')
  let generatedKey = ''
  let isConfirmed = form.dataset.method === 'GET'
  let isWaiting = false

  function showSamples(): void {
    const request = readForm(form, key.sampleKey)
    for (const { id, syntax, render } of LANGUAGES)
      part(`[data-language=${id}] code`).replaceChildren(...highlight(syntax, render(request)))
    const shownUrl = request.url.slice(request.baseUrl.length - `/${API_PATH}`.length)
    url.textContent = `${request.method} ${shownUrl}`
  }

  function generateKey(): void {
    // A key of the user's own stays, so that the user can repeat the request with it.
    if (idempotencyKey === null || idempotencyKey.value !== generatedKey) return
    generatedKey = newIdempotencyKey()
    idempotencyKey.value = generatedKey
    showSamples()
  }

  function say(kind: string, ...content: readonly (Node | string)[]): void {
    output.hidden = false
    output.className = kind
    output.replaceChildren(...content)
  }

  /** Shows a question or an explanation. The focus returns to "Send" before the button that has it disappears. */
  function ask(text: string, ...actions: readonly (readonly [label: string, action: () => void])[]): void {
    const buttons = actions.map(([label, action]) => {
      const button = createElement('button', { type: 'button' }, label)
      button.addEventListener('click', () => {
        sendButton.focus()
        action()
      })
      return button
    })
    say('question', text, createElement('span', {}, ...buttons))
  }

  async function submit(): Promise<void> {
    if (key.value === '') {
      const name = part('h2').textContent
      ask('Nothing was sent: the request needs an API key, which you enter at the top of this page.', [
        'Enter a key',
        () => {
          output.hidden = true
          key.ask(sendButton, name)
        },
      ])
      return
    }
    if (!isConfirmed) {
      ask(
        `Nothing was sent yet. This request ${part('.effect').textContent}.`,
        [
          'Add the animal',
          () => {
            isConfirmed = true
            form.requestSubmit()
          },
        ],
        ['Cancel', () => say('', 'Nothing was sent.')],
      )
      return
    }
    isWaiting = true
    say('', 'Waiting for the response …')
    const result = await send(readForm(form, key.value))
    isWaiting = false
    say(...describe(result))
    showResponse(result)
    // Without an answer, the same key must be sent again, so that no second animal is added.
    if ('status' in result && result.status === 201) generateKey()
  }

  form.addEventListener('input', showSamples)
  key.onChange(showSamples)
  form.addEventListener('submit', event => {
    event.preventDefault()
    if (!isWaiting) submit()
  })
  // A browser may restore the key of an earlier visit.
  if (idempotencyKey !== null) idempotencyKey.value = ''
  generateKey()
  showSamples()
}

/** The API is beside the page: a proxy may serve both below a prefix. */
function readForm(form: HTMLFormElement, apiKey: string | undefined): SampleRequest {
  const { operation = '', method = '', path = '' } = form.dataset
  const fields = [...form.querySelectorAll<HTMLInputElement>('[data-in]')].map(
    ({ name, value, dataset }) => ({ name, value, in: dataset.in ?? '' }),
  )
  const baseUrl = new URL(API_PATH, location.href).href
  return buildRequest({
    operationId: operation,
    method,
    baseUrl,
    path: path.slice(API_PATH.length),
    fields,
    apiKey,
  })
}

function newIdempotencyKey(): string {
  // Browsers provide `crypto.randomUUID` only in secure contexts.
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), byte =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
}

async function send({ method, url, headers, body, apiKey }: SampleRequest): Promise<Result> {
  const startedAt = performance.now()
  try {
    const response = await fetch(url, {
      method,
      headers: [
        ['Authorization', `Bearer ${apiKey}`],
        ...headers.map(([name, value]): [string, string] => [name, value]),
      ],
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body === undefined ? {} : { body }),
    })
    const text = await response.text()
    const { status, statusText } = response
    return { status, statusText, headers: [...response.headers], text, ms: performance.now() - startedAt }
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) }
  }
}

/** The outcome in one line, after the kind of outcome. Screen readers announce this line only. */
function describe(result: Result): [kind: string, outcome: HTMLElement, details: string] {
  if ('failure' in result)
    return ['refused', createElement('strong', {}, 'No response'), ` The request failed: ${result.failure}`]
  const { status, statusText, ms } = result
  const prefix = status >= 500 ? 'Failed: ' : status >= 400 ? 'Refused: ' : ''
  return [
    status >= 400 ? 'refused' : 'accepted',
    createElement('strong', {}, `${prefix}${status} ${statusText}`.trim()),
    ` in ${formatNumber(Math.round(ms))} ms`,
  ]
}

/** Returns a function that shows a response in the block, without rounding any number, or the example if there is none. */
function createResponseBlock(block: Element): (result: Result) => void {
  const [title, details] = [block.querySelector('p'), block.querySelector('details')]
  const [body, headers] = block.querySelectorAll('code')
  if (!title || !details || !body || !headers) throw new Error('the response has no parts')
  const example = { title: title.textContent, body: [...body.childNodes] }
  return result => {
    const isAnswer = 'status' in result
    title.textContent = isAnswer ? `Response ${result.status}` : example.title
    body.replaceChildren(...(isAnswer ? highlight('json', indentJson(result.text)) : example.body))
    details.hidden = !isAnswer
    if (!isAnswer) return
    const lines = result.headers.map(([name, value]) => `${name}: ${value}`)
    headers.replaceChildren(...highlight('http', lines.join('\n')))
  }
}

/** Elements with the tokens of the code. */
function highlight(syntax: string, text: string): (HTMLElement | string)[] {
  return tokenize(syntax, text).map(({ kind, text }) =>
    kind === undefined ? text : createElement('span', { class: kind }, text),
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
