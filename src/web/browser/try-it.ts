// The forms of the API reference: the samples follow their values, and "Send" shows the response.

import { LANGUAGES } from '../samples/languages.ts'
import { buildRequest, type SampleRequest } from '../samples/request.ts'
import { createElement } from './elements.ts'
import type { KeyField } from './reference-key.ts'
import { highlight, type Result, showResult } from './reference-result.ts'

const TIMEOUT_MS = 30_000

const API_PATH = 'v1'

export function enableForm(form: HTMLFormElement, key: KeyField): void {
  const output = form.querySelector('output')
  const url = form.querySelector('.url')
  if (output === null || url === null) return
  let isWaiting = false

  const showSamples = () => {
    const request = readForm(form, key.sampleKey)
    for (const { id, syntax, render } of LANGUAGES)
      form.querySelector(`[data-language=${id}] code`)?.replaceChildren(...highlight(syntax, render(request)))
    url.textContent = request.url.slice(request.baseUrl.length - `/${API_PATH}`.length)
  }
  form.addEventListener('input', showSamples)
  key.onChange(showSamples)
  showSamples()

  form.addEventListener('submit', async event => {
    event.preventDefault()
    if (isWaiting) return
    if (key.value === '') {
      explainKey(output, key)
      return
    }
    isWaiting = true
    output.hidden = false
    output.className = ''
    output.replaceChildren('Waiting for the response …')
    showResult(output, await send(readForm(form, key.value)))
    isWaiting = false
  })
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

function explainKey(output: HTMLOutputElement, key: KeyField): void {
  const button = createElement('button', { type: 'button' }, 'Enter a key')
  button.addEventListener('click', () => key.focus())
  output.hidden = false
  output.className = 'explanation'
  output.replaceChildren(
    'Nothing was sent: the request needs an API key. Enter yours at the top of this page. ',
    button,
  )
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
