// One request, sent as often as it takes: with time-outs, and with retries that wait longer each time.

import { parseJson } from '../json.ts'
import { AnimalStoreError, type AnimalStoreErrorCode } from './error.ts'

export interface Ask {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface Patience {
  /** For one attempt, until the last byte of its answer. */
  readonly timeoutMs: number
  /** How many times a failed attempt is followed by another. */
  readonly retries: number
}

const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 30_000

/** Too many requests, away, and what a proxy says when the service behind it is away. */
const WORTH_RETRYING = [429, 502, 503, 504]

/** A service of a later version may have codes that this client does not know. */
const CODE = /^[a-z_]+$/

/**
 * Resolves with the answer, whatever it says, once it is not worth asking again. Throws an AnimalStoreError where there
 * was none, and the reason of the signal if that ended it. Whoever asks for a change sends an idempotency key with it:
 * a retry may follow a success whose answer was lost.
 */
export async function send(
  ask: Ask,
  { timeoutMs, retries }: Patience,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  for (let failures = 0; ; failures++) {
    const outcome = await attempt(ask, timeoutMs, signal)
    const isAnswer = !(outcome instanceof AnimalStoreError)
    if (isAnswer && !WORTH_RETRYING.includes(outcome.status)) return outcome
    const asked = isAnswer ? retryAfterMs(outcome) : 0
    if (failures < retries && asked <= LONGEST_WAIT_MS) await sleep(asked + waitAfter(failures), signal)
    else if (isAnswer) return outcome
    else throw outcome
  }
}

async function attempt(
  { url, ...request }: Ask,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<Answer | AnimalStoreError> {
  signal?.throwIfAborted()
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  const timer = setTimeout(stop, timeoutMs)
  signal?.addEventListener('abort', stop)
  try {
    const response = await fetch(url, { ...request, redirect: 'manual', signal: stopping.signal })
    return { status: response.status, headers: response.headers, text: await response.text() }
  } catch (cause) {
    signal?.throwIfAborted()
    return stopping.signal.aborted
      ? new AnimalStoreError(`No answer came within ${timeoutMs} ms.`, { code: 'timeout', cause })
      : new AnimalStoreError('The service could not be reached.', { code: 'network_error', cause })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

/** Seconds or a date, as HTTP has it. */
function retryAfterMs({ headers }: Answer): number {
  const value = headers.get('retry-after') ?? ''
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now()
  return Math.max(ms || 0, 0)
}

/** Twice as long each time, and partly at random, so that many clients do not come back at once. */
function waitAfter(failures: number): number {
  return Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS) * (0.5 + Math.random() / 2)
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop)
  })
}

/** Reads an answer of success, or throws an AnimalStoreError. */
export function read<Value>(answer: Answer, parse: (value: unknown) => Value): Value {
  // A redirect is none of the service's answers; a browser shows it as 0.
  if (answer.status < 200 || answer.status >= 300) throw refusal(answer)
  try {
    return parse(parseJson(answer.text))
  } catch (cause) {
    const message = 'The answer is not one that the service would give.'
    throw new AnimalStoreError(message, { code: 'unexpected_response', ...marksOf(answer), cause })
  }
}

function refusal(answer: Answer): AnimalStoreError {
  const { code, message } = errorObject(answer.text) ?? {
    code: 'unexpected_response',
    message: `The answer was ${answer.status}, without the service's own words.`,
  }
  return new AnimalStoreError(message, { code, ...marksOf(answer) })
}

/** Undefined where somebody else has answered, such as a proxy on the way. */
function errorObject(text: string): { code: AnimalStoreErrorCode; message: string } | undefined {
  try {
    const { code, message } = parseJson(text) as Record<string, unknown>
    if (typeof code !== 'string' || typeof message !== 'string' || !CODE.test(code)) return undefined
    return { code: code as AnimalStoreErrorCode, message }
  } catch {
    return undefined
  }
}

function marksOf({ status, headers }: Answer) {
  return { status, requestId: headers.get('x-request-id') ?? undefined }
}
