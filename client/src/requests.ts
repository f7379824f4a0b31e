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
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Sent with every attempt, so that only one of them changes something. */
  readonly idempotencyKey?: string
}

export interface ApiResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const FIRST_DELAY_MS = 250
const MAX_DELAY_MS = 30_000

/** A request that arrived too slowly, too many requests, unavailable, and what a proxy sends while the service is down. */
const RETRIED_STATUSES = [408, 429, 502, 503, 504]

const CODE = /^[a-z_]+$/

/** What Node.js, Deno and Bun say about an answer in plain HTTP. */
const HTTP_ON_HTTPS = /wrong.version.number|packet.length.too.long|InvalidContentType|speak TLS on this port/i

/** What they say about a host name that does not exist, and about a port that `fetch` refuses. */
const UNKNOWN_HOST = /ENOTFOUND|Name or service not known|nodename nor servname|No such host is known/i
const REFUSED_PORT = /\bbad port\b|port \d+ (?:is|are) blocked/i

/**
 * Resolves with the first response that needs no retry, otherwise with the last one, whatever its status. Throws an
 * AnimalStoreError if the last attempt got no response, and the signal's reason if the signal is aborted.
 *
 * The service may have carried out a request whose response was lost, so a write must have an idempotency key.
 */
export async function send(
  settings: ClientSettings,
  request: ApiRequest,
  signal: AbortSignal | undefined,
): Promise<ApiResponse> {
  for (let failures = 0; ; failures++) {
    const result = await attempt(settings, request, signal)
    const isResponse = !(result instanceof AnimalStoreError)
    const mayPass = isResponse ? RETRIED_STATUSES.includes(result.status) : !isPermanent(result.cause)
    const retryAfterMs = isResponse ? (retryAfterSeconds(result) ?? 0) * 1_000 : 0
    if (mayPass && failures < settings.retries && retryAfterMs <= MAX_DELAY_MS)
      await wait(retryAfterMs + backoff(failures), signal)
    else if (isResponse) return result
    else throw result
  }
}

async function attempt(
  settings: ClientSettings,
  { method, path, headers, body, idempotencyKey }: ApiRequest,
  signal: AbortSignal | undefined,
): Promise<ApiResponse | AnimalStoreError> {
  const { baseUrl, apiKey, fetch = globalThis.fetch, timeoutMs } = settings
  signal?.throwIfAborted()
  const controller = new AbortController()
  const abort = () => controller.abort()
  const timer = setTimeout(abort, timeoutMs)
  signal?.addEventListener('abort', abort)
  try {
    const response = await fetch(baseUrl + path, {
      method,
      headers: {
        ...settings.headers,
        ...headers,
        ...(idempotencyKey !== undefined && { 'idempotency-key': quoteKey(idempotencyKey) }),
        authorization: `Bearer ${apiKey}`,
      },
      ...(body !== undefined && { body }),
      redirect: 'manual',
      signal: controller.signal,
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  } catch (cause) {
    signal?.throwIfAborted()
    const details = { cause, idempotencyKey }
    return controller.signal.aborted
      ? new AnimalStoreError(`There was no response within ${timeoutMs} ms.`, { code: 'timeout', ...details })
      : new AnimalStoreError(describeRequestFailure(settings, cause), { code: 'network_error', ...details })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

/** The service accepts a quote only in a quoted string, and removes the quotes around it and the escapes. */
function quoteKey(key: string): string {
  return key.includes('"') ? `"${key.replace(/["\\]/g, '\\$&')}"` : key
}

/** Whether every retry would fail in the same way, so that a mistyped URL is reported at once. */
function isPermanent(error: unknown): boolean {
  const { code, reason } = originOf(error)
  return [HTTP_ON_HTTPS, UNKNOWN_HOST, REFUSED_PORT].some(pattern => pattern.test(`${code} ${reason}`))
}

function originOf(error: unknown): { code: unknown; reason: string } {
  // Node.js and Deno throw an error that says only "fetch failed". Its cause has the reason.
  const { code, message } = Object((error as Error | undefined)?.cause ?? error) as Record<string, unknown>
  // The error of a host with several addresses has only a code.
  return { code, reason: String(message || (code ?? '')).replace(/[.\s]+$/, '') }
}

function describeRequestFailure({ baseUrl, apiKey }: ClientSettings, error: unknown): string {
  const noResponse = `No response from ${new URL(baseUrl).host}`
  const { code, reason } = originOf(error)
  if (HTTP_ON_HTTPS.test(`${code} ${reason}`))
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

/**
 * Parses the body of a successful response; `parse` gets undefined if status 204 says that there is none. Throws an
 * AnimalStoreError for any other response or body.
 */
export function readResponse<Value>(
  { idempotencyKey }: ApiRequest,
  response: ApiResponse,
  parse: (value: unknown) => Value,
): Value {
  const { status, text } = response
  const requestId = requestIdOf(response)
  const details = { status, requestId, retryAfterSeconds: retryAfterSeconds(response), idempotencyKey }
  // The service never redirects. A browser reports a redirect as status 0.
  if (status < 200 || status >= 300) {
    const { code, message } = parseErrorObject(text) ?? {
      code: 'unexpected_response',
      message: `The response has status ${status} and no error object of the service.`,
    }
    throw new AnimalStoreError(message, { code, ...details })
  }
  try {
    return parse(status === 204 ? undefined : parseJson(text))
  } catch (cause) {
    const message = 'The response is not one that the service would send.'
    throw new AnimalStoreError(message, { code: 'unexpected_response', ...details, cause })
  }
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
