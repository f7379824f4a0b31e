// The forms of the API reference: the samples follow their values, and "Send" shows the response in place of the example.

import { formatCount, formatNumber } from '../../number-format.ts'
import { NO_BODY, tokenizeLines } from '../samples/highlight.ts'
import { LANGUAGES } from '../samples/languages.ts'
import { buildRequest, fillIn, type SampleRequest } from '../samples/sample-request.ts'
import type { ApiKeyField } from './api-key-field.ts'
import { INVALID_KEY } from './browser-storage.ts'
import { createElement, find } from './elements.ts'

const TIMEOUT_MS = 30_000

const API_PATH = 'v1'

/** No header can contain other characters: `fetch` would fail without a reason. An API key contains no spaces either. */
const HEADER_VALUE = /^[ -~]*$/
const API_KEY = /^[!-~]+$/

const READ_ONLY = 'This key may only read. Enter one that may write.'

/** A response with its body, and how long it took. */
interface Answer {
  readonly response: Response
  readonly text: string
  readonly ms: number
}

export function enableForm(form: HTMLFormElement, key: ApiKeyField): void {
  const sendRow = find('.send', HTMLElement, form)
  const sendButton = find('button', HTMLButtonElement, sendRow)
  const result = find('.result', HTMLElement, form)
  const output = find('output', HTMLOutputElement, result)
  const nextButton = find('button', HTMLButtonElement, result)
  const showAnswer = createResponseBlock(find('.response', HTMLElement, form))
  const idempotencyKey = form.querySelector<HTMLInputElement>('[name=Idempotency-Key]')
  const effect = find('.effect', HTMLElement, form)
  const isWrite = form.dataset.method !== 'GET'
  let generatedKey = ''
  /** Takes back a question, because the form has changed. */
  let withdraw: (() => void) | undefined
  let isWaiting = false
  let nextPage: URLSearchParams | undefined

  function showSamples(): void {
    const request = readForm(form)
    for (const { id, syntax, render } of LANGUAGES)
      find(`[data-language=${id}] code`, HTMLElement, form).replaceChildren(
        ...highlight(syntax, render(request)),
      )
    const shownUrl = request.url.slice(request.baseUrl.length - `/${API_PATH}`.length)
    find('.url', HTMLElement, form).textContent = `${request.method} ${shownUrl}`
    showEffect(request)
  }

  function showEffect({ values }: SampleRequest): void {
    effect.textContent = isRefused() ? READ_ONLY : fillIn(effect.dataset.effect ?? '', values)
  }

  function isRefused(): boolean {
    return isWrite && key.isReadOnly()
  }

  /** With a key that may only read there is nothing to send that writes. */
  function showAccess(): void {
    if (sendButton.disabled === isRefused()) return
    sendButton.disabled = isRefused()
    showEffect(readForm(form))
    const isRefusal = output.textContent?.endsWith(READ_ONLY) === true
    if (!sendButton.disabled && isRefusal) result.hidden = true
    // The field for the key may cover the reason beside "Send".
    const isCovered = sendRow.querySelector('#key') !== null
    if (sendButton.disabled && (withdraw !== undefined || isCovered)) sayFailure('Not sent.', READ_ONLY)
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
    withdraw = undefined
    result.hidden = false
    output.className = kind
    output.replaceChildren(...content)
  }

  function sayFailure(title: string, sentence: string): void {
    say('refused', createElement('strong', {}, title), ` ${sentence}`)
  }

  /** For a control that has the focus and disappears. */
  function focusSend(): void {
    sendButton.focus({ preventScroll: true })
  }

  /** Asks before a write in production. */
  function askToConfirm(label: string): void {
    const sendNow = createElement('button', { type: 'button' }, label)
    const cancel = createElement('button', { type: 'button' }, 'Cancel')
    const choice = createElement('span', { class: 'row' }, sendNow, cancel)
    say('question', `Nothing was sent yet. This request ${effect.textContent}.`, choice)
    sendNow.addEventListener('click', () => {
      focusSend()
      submit({ isConfirmed: true })
    })
    cancel.addEventListener('click', () => {
      focusSend()
      say('', 'Nothing was sent.')
    })
    withdraw = () => say('', 'Nothing was sent yet. The request was changed.')
  }

  /** Returns whether the form has a key that can be sent. Asks for one otherwise. */
  function checkKey(): boolean {
    if (API_KEY.test(key.value)) {
      if (sendRow.querySelector('#key:focus-within') !== null) focusSend()
      key.returnToTop()
      return true
    }
    if (key.value === '')
      say('question', 'Nothing was sent yet. Enter your API key: all operations of this page use it.')
    else sayFailure('Not sent.', INVALID_KEY)
    key.askIn(sendRow)
    return false
  }

  async function submit({ isConfirmed = false } = {}): Promise<void> {
    // Enter in a field sends too, and on a small screen "Send" may be far from it.
    if (form.querySelector('[data-in]:focus') !== null) sendRow.scrollIntoView({ block: 'nearest' })
    if (isRefused() || !checkKey()) return
    const request = readForm(form)
    const invalid = request.headers.find(([, value]) => !HEADER_VALUE.test(value))
    if (invalid !== undefined) {
      sayFailure(
        'Not sent.',
        `${invalid[0]} has a character that no header can contain. Use ASCII letters, digits and symbols.`,
      )
      return
    }
    const { confirm } = form.dataset
    if (confirm !== undefined && !isConfirmed) return askToConfirm(confirm)
    isWaiting = true
    say('', 'Waiting for the response …')
    const sentKey = key.value
    const answer = await send(request, sentKey).catch(describeMissingResponse)
    isWaiting = false
    if (typeof answer !== 'string') {
      if (isForbidden(answer)) key.markReadOnly(sentKey)
      showOutcome(answer)
      const { status, headers } = answer.response
      const seconds = Number(headers.get('retry-after'))
      const isTemporary = (status === 429 || status === 503) && seconds > 0
      if (isTemporary) output.append(`. Wait ${formatCount(seconds, 'second')}, then send again.`)
      return
    }
    // The key stays as it is: the request may have been carried out.
    const advice = idempotencyKey?.value
      ? ' Send again with the same Idempotency-Key: nothing is done twice.'
      : ''
    sayFailure('No response.', answer + advice)
    showAnswer(undefined)
    showNextButton(null)
  }

  function showOutcome(answer: Answer): void {
    const { status, statusText, headers } = answer.response
    const prefix = status >= 500 ? 'Failed: ' : status >= 400 ? 'Rejected: ' : ''
    const outcome = createElement('strong', {}, `${prefix}${status} ${statusText}`.trim())
    const isKeyRejected = status === 401 || isForbidden(answer)
    const advice = isKeyRejected ? `. ${status === 401 ? 'Enter another API key.' : READ_ONLY}` : ''
    const duration = ` in ${formatNumber(Math.round(answer.ms))} ms${advice}`
    // Screen readers announce this line only.
    say(status >= 400 ? 'refused' : 'accepted', outcome, duration)
    showAnswer(answer)
    showNextButton(headers.get('link'))
    const isElsewhere = document.activeElement !== document.body && !form.contains(document.activeElement)
    if (isKeyRejected && !isElsewhere) key.askIn(sendRow)
    if (answer.response.ok) generateKey()
  }

  /** Offers the next page if this `Link` header has one. */
  function showNextButton(link: string | null): void {
    const [, url] = /<([^>]*)>; rel="next"/.exec(link ?? '') ?? []
    nextPage = url === undefined ? undefined : new URL(url, location.href).searchParams
    if (nextPage === undefined && document.activeElement === nextButton) focusSend()
    nextButton.hidden = nextPage === undefined
  }

  nextButton.addEventListener('click', () => {
    if (isWaiting) return
    for (const name of ['after', 'before'])
      find(`[name=${name}]`, HTMLInputElement, form).value = nextPage?.get(name) ?? ''
    showSamples()
    form.requestSubmit()
  })
  form.addEventListener('input', ({ target }) => {
    showSamples()
    // Other controls, such as the language of the sample, do not change the request.
    if (target instanceof Element && target.matches('[data-in]')) withdraw?.()
  })
  form.addEventListener('submit', event => {
    event.preventDefault()
    if (!isWaiting) submit()
  })
  // A browser may restore the key of an earlier visit.
  if (idempotencyKey !== null) idempotencyKey.value = ''
  generateKey()
  showSamples()
  key.onChange(showAccess)
  showAccess()
}

/** Whether the service has refused a write because the key may only read. A proxy may answer 403 for another reason. */
function isForbidden({ response, text }: Answer): boolean {
  return response.status === 403 && /"code":\s*"forbidden"/.test(text)
}

/** Why there is no response, in words: `fetch` itself says no more than that it failed. */
function describeMissingResponse(error: unknown): string {
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return `The service did not answer within ${TIMEOUT_MS / 1_000} seconds.`
  if (!navigator.onLine) return 'This device is offline. Connect it to the network, and send again.'
  return 'The service cannot be reached. It may have been stopped, or be starting: send again in a moment.'
}

/** The API is beside the page: a proxy may serve both below a prefix. */
function readForm(form: HTMLFormElement): SampleRequest {
  const { operation = '', method = '', path = '', mediaType } = form.dataset
  const fields = [...form.querySelectorAll<HTMLInputElement>('[data-in]')].map(
    ({ name, value, dataset }) => ({ name, value, in: dataset.in ?? '' }),
  )
  const baseUrl = new URL(API_PATH, location.href).href
  return buildRequest({
    operationId: operation,
    method,
    baseUrl,
    path: path.slice(API_PATH.length),
    mediaType,
    fields,
  })
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

/**
 * Returns a function that shows an answer in the block, without rounding any number, or an example if there is none. The
 * list in the block has an example of each status, and the answer.
 */
function createResponseBlock(block: HTMLElement): (answer: Answer | undefined) => void {
  const title = find('p', HTMLElement, block)
  const list = find('select', HTMLSelectElement, block)
  const body = find('code', HTMLElement, block)
  const details = find('details', HTMLElement, block)
  const sent = new Option('Your response', '')
  let answer: Answer | undefined

  function show(): void {
    const shown = sent.selected ? answer : undefined
    const status = shown?.response.status ?? `${list.selectedOptions[0]?.text}, an example`
    title.textContent = `Response ${status}`
    body.replaceChildren(...highlight('json', shown ? indentJson(shown.text) || NO_BODY : list.value))
    details.hidden = shown === undefined
    const lines = [...(shown?.response.headers ?? [])].map(([name, value]) => `${name}: ${value}`)
    find('code', HTMLElement, details).replaceChildren(...highlight('http', lines.join('\n')))
  }

  list.addEventListener('change', show)
  return latest => {
    answer = latest
    sent.remove()
    if (answer !== undefined) list.prepend(sent)
    list.selectedIndex = 0
    show()
  }
}

/** Elements with the lines of the code and their tokens. */
function highlight(syntax: string, text: string): HTMLElement[] {
  return tokenizeLines(syntax, text).map(tokens => {
    const children = tokens.map(({ kind, text }) =>
      kind === undefined ? text : createElement('span', { class: kind }, text),
    )
    return createElement('span', { class: 'line' }, ...children)
  })
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
