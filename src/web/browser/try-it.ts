// The forms of the API reference: the samples follow their values, and "Send" shows the response in place of the example.

import { tokenize } from '../samples/highlight.ts'
import { LANGUAGES } from '../samples/languages.ts'
import { buildRequest, type SampleRequest } from '../samples/request.ts'
import { createElement, find, formatNumber } from './elements.ts'

const TIMEOUT_MS = 30_000

const API_PATH = 'v1'

/** A response with its body, and how long it took. */
interface Answer {
  readonly response: Response
  readonly text: string
  readonly ms: number
}

/** `key` is the field for the API key, which all forms share. */
export function enableForm(form: HTMLFormElement, key: HTMLInputElement): void {
  const output = find('output', HTMLOutputElement, form)
  const sendButton = find('.send button', HTMLButtonElement, form)
  const showAnswer = createResponseBlock(find('.response', HTMLElement, form))
  const idempotencyKey = form.querySelector<HTMLInputElement>('[name=Idempotency-Key]')
  let generatedKey = ''
  let isConfirmed = form.dataset.method === 'GET'
  let isWaiting = false

  function showSamples(): void {
    const request = readForm(form)
    for (const { id, syntax, render } of LANGUAGES)
      find(`[data-language=${id}] code`, HTMLElement, form).replaceChildren(
        ...highlight(syntax, render(request)),
      )
    const shownUrl = request.url.slice(request.baseUrl.length - `/${API_PATH}`.length)
    find('.url', HTMLElement, form).textContent = `${request.method} ${shownUrl}`
  }

  function generateKey(): void {
    // A key of the user's own stays, so that the user can repeat the request with it.
    if (idempotencyKey === null || idempotencyKey.value !== generatedKey) return
    // Browsers provide `crypto.randomUUID` only in secure contexts.
    generatedKey = String(crypto.getRandomValues(new BigUint64Array(1)))
    idempotencyKey.value = generatedKey
    showSamples()
  }

  function say(kind: string, ...content: readonly (Node | string)[]): void {
    output.hidden = false
    output.className = kind
    output.replaceChildren(...content)
  }

  /** Asks once before an animal is added. */
  function askToConfirm(): void {
    const effect = find('.effect', HTMLElement, form).textContent
    const buttons = ['Add the animal', 'Cancel'].map(label =>
      createElement('button', { type: 'button' }, label),
    )
    for (const button of buttons)
      button.addEventListener('click', () => {
        // The button that has the focus disappears.
        sendButton.focus()
        isConfirmed = button === buttons[0]
        if (isConfirmed) form.requestSubmit()
        else say('', 'Nothing was sent.')
      })
    say(
      'question',
      `Nothing was sent yet. This request ${effect}.`,
      createElement('span', { class: 'row' }, ...buttons),
    )
  }

  async function submit(): Promise<void> {
    if (!key.reportValidity()) return
    if (!isConfirmed) return askToConfirm()
    isWaiting = true
    say('', 'Waiting for the response …')
    try {
      const answer = await send(readForm(form), key.value.trim())
      const { status, statusText } = answer.response
      const prefix = status >= 500 ? 'Failed: ' : status >= 400 ? 'Rejected: ' : ''
      const outcome = createElement('strong', {}, `${prefix}${status} ${statusText}`.trim())
      // Screen readers announce this line only.
      say(status >= 400 ? 'refused' : 'accepted', outcome, ` in ${formatNumber(Math.round(answer.ms))} ms`)
      showAnswer(answer)
      if (status === 201) generateKey()
    } catch (error) {
      // Without an answer, the same key must be sent again, so that no second animal is added.
      const reason = error instanceof Error ? error.message : error
      say('refused', createElement('strong', {}, 'No response'), ` The request failed: ${reason}`)
      showAnswer(undefined)
    } finally {
      isWaiting = false
    }
  }

  form.addEventListener('input', showSamples)
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
function readForm(form: HTMLFormElement): SampleRequest {
  const { operation = '', method = '', path = '' } = form.dataset
  const fields = [...form.querySelectorAll<HTMLInputElement>('[data-in]')].map(
    ({ name, value, dataset }) => ({ name, value, in: dataset.in ?? '' }),
  )
  const baseUrl = new URL(API_PATH, location.href).href
  return buildRequest({ operationId: operation, method, baseUrl, path: path.slice(API_PATH.length), fields })
}

async function send({ method, url, headers, body }: SampleRequest, apiKey: string): Promise<Answer> {
  const startedAt = performance.now()
  const response = await fetch(url, {
    method,
    headers: Object.fromEntries([['Authorization', `Bearer ${apiKey}`], ...headers]),
    signal: AbortSignal.timeout(TIMEOUT_MS),
    body: body ?? null,
  })
  const text = await response.text()
  return { response, text, ms: performance.now() - startedAt }
}

/** Returns a function that shows an answer in the block, without rounding any number, or the example if there is none. */
function createResponseBlock(block: HTMLElement): (answer: Answer | undefined) => void {
  const title = find('p', HTMLElement, block)
  const body = find('code', HTMLElement, block)
  const details = find('details', HTMLElement, block)
  const example = { title: title.textContent, body: [...body.childNodes] }
  return answer => {
    title.textContent = answer ? `Response ${answer.response.status}` : example.title
    body.replaceChildren(...(answer ? highlight('json', indentJson(answer.text)) : example.body))
    details.hidden = !answer
    const lines = [...(answer?.response.headers ?? [])].map(([name, value]) => `${name}: ${value}`)
    find('code', HTMLElement, details).replaceChildren(...highlight('http', lines.join('\n')))
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
