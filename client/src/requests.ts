// Sends one request, with a time-out for each attempt, and retries it with exponential backoff.

import { AnimalStoreError } from './error.ts'
import { parseJson } from './json.ts'
import { wait } from './wait.ts'

/** A part of the signature of `fetch`, so that a program can pass a simpler function. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** How the requests of one client are sent. */
export interface ClientSettings {
  readonly baseUrl: string
  readonly apiKey: string
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>
  /** Undefined means the global one. */
  readonly fetch: Fetch | undefined
  /** For one attempt, until the last byte of the response. */
  readonly timeoutMs: number
  /** How many attempts may follow the first one. */
  readonly retries: number
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface ApiResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const FIRST_DELAY_MS = 250
const MAX_DELAY_MS = 30_000

/** Too many requests, unavailable, and what a proxy sends while the service behind it is down. */
const RETRIED_STATUSES = [429, 502, 503, 504]

const CODE = /^[a-z_]+$/

/** What Node.js, Deno and Bun say about an answer in plain HTTP. */
const HTTP_ON_HTTPS = /wrong.version.number|packet.length.too.long|InvalidContentType|speak TLS on this port/i

/**
 * Resolves with the first response that needs no retry, otherwise with the last one, whatever its status. Throws an
 * AnimalStoreError if the last attempt got no response, and the signal's reason if the signal is aborted.
 *
 * The service may have carried out a request whose response was lost, so a request that changes something must have an
 * idempotency key.
 */
export async function send(
  settings: ClientSettings,
  request: ApiRequest,
  signal: AbortSignal | undefined,
): Promise<ApiResponse> {
  for (let failures = 0; ; failures++) {
    const result = await attempt(settings, request, signal)
    const isResponse = !(result instanceof AnimalStoreError)
    if (isResponse && !RETRIED_STATUSES.includes(result.status)) return result
    const retryAfterMs = isResponse ? (retryAfterSeconds(result) ?? 0) * 1_000 : 0
    if (failures < settings.retries && retryAfterMs <= MAX_DELAY_MS)
      await wait(retryAfterMs + backoff(failures), signal)
    else if (isResponse) return result
    else throw result
  }
}

async function attempt(
  settings: ClientSettings,
  { path, ...request }: ApiRequest,
  signal: AbortSignal | undefined,
): Promise<ApiResponse | AnimalStoreError> {
  const { baseUrl, apiKey, headers, fetch = globalThis.fetch, timeoutMs } = settings
  signal?.throwIfAborted()
  const controller = new AbortController()
  const abort = () => controller.abort()
  const timer = setTimeout(abort, timeoutMs)
  signal?.addEventListener('abort', abort)
  try {
    const response = await fetch(baseUrl + path, {
      ...request,
      headers: { ...headers, ...request.headers, authorization: `Bearer ${apiKey}` },
      redirect: 'manual',
      signal: controller.signal,
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  } catch (cause) {
    signal?.throwIfAborted()
    return controller.signal.aborted
      ? new AnimalStoreError(`There was no response within ${timeoutMs} ms.`, { code: 'timeout', cause })
      : new AnimalStoreError(describeRequestFailure(settings, cause), { code: 'network_error', cause })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

function describeRequestFailure({ baseUrl, apiKey }: ClientSettings, error: unknown): string {
  const noResponse = `No response from ${new URL(baseUrl).host}`
  // Node.js and Deno throw an error that says only "fetch failed". Its cause has the reason.
  const origin = Object((error as Error | undefined)?.cause ?? error) as { code?: unknown; message?: unknown }
  // The error of a host with several addresses has only a code.
  const reason = String(origin.message || (origin.code ?? '')).replace(/[.\s]+$/, '')
  if (HTTP_ON_HTTPS.test(`${origin.code} ${reason}`))
    return `${noResponse}: the server speaks http on this port, but the URL begins with https.`
  // The `fetch` of a program may have put the headers into its message.
  return reason === '' || reason.includes(apiKey) ? `${noResponse}.` : `${noResponse}: ${reason}.`
}

/** `Retry-After` is a number of seconds or a date. */
function retryAfterSeconds({ headers }: ApiResponse): number | undefined {
  const value = headers.get('retry-after') ?? ''
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1_000
  return Number.isNaN(seconds) ? undefined : Math.max(Math.ceil(seconds), 0)
}

/** Doubles with each failure. Half of it is random, so that many clients do not retry at the same moment. */
function backoff(failures: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** failures, MAX_DELAY_MS) * (0.5 + Math.random() / 2)
}

/** Parses the body of a successful response. Throws an AnimalStoreError for any other response or body. */
export function readResponse<Value>(response: ApiResponse, parse: (value: unknown) => Value): Value {
  // The service never redirects. A browser reports a redirect as status 0.
  if (response.status < 200 || response.status >= 300) throw toError(response)
  try {
    return parse(parseJson(response.text))
  } catch (cause) {
    const message = 'The response is not one that the service would send.'
    throw new AnimalStoreError(message, { code: 'unexpected_response', ...detailsOf(response), cause })
  }
}

function toError(response: ApiResponse): AnimalStoreError {
  const { code, message } = parseErrorObject(response.text) ?? {
    code: 'unexpected_response',
    message: `The response has status ${response.status} and no error object of the service.`,
  }
  return new AnimalStoreError(message, { code, ...detailsOf(response) })
}

/** Returns undefined if something other than the service answered, such as a proxy. */
function parseErrorObject(text: string): { code: string; message: string } | undefined {
  try {
    const { code, message } = parseJson(text) as Record<string, unknown>
    if (typeof code !== 'string' || typeof message !== 'string' || !CODE.test(code)) return undefined
    return { code, message }
  } catch {
    return undefined
  }
}

/** The id of the request in the log of the service. */
export function requestIdOf({ headers }: ApiResponse): string | undefined {
  return headers.get('x-request-id') ?? undefined
}

function detailsOf(response: ApiResponse) {
  const { status } = response
  const requestId = requestIdOf(response)
  return { status, requestId, retryAfterSeconds: retryAfterSeconds(response) }
}
