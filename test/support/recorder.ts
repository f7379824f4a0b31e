// Sends the requests of an experiment, and records each one with its times and its answer (history.ts).

import { setTimeout as delay } from 'node:timers/promises'
import { parseJson } from '../../client/src/json.ts'
import type { Animal } from '../../src/animal.ts'
import { renderJson } from '../../src/json.ts'
import { findViolations, type Operation, type Request } from './history.ts'

const ANSWER_TIMEOUT_MS = 10_000
const RETRY_MS = 50
const CHECK_TIMEOUT_MS = 120_000
const PAGE = 100

/** How many violations are printed. */
const SHOWN = 20

export interface Answer {
  /** The status, or the reason why there was no answer. */
  readonly status: string
  readonly animals: Operation['animals']
}

export interface Recorder {
  /** Sends the request to the service at this address. Never rejects. */
  send(address: string, request: Request): Promise<Answer>
  /**
   * Lists all animals page by page, then prints how many requests contradict each other. Returns whether none does.
   * Rejects if the animals cannot be listed within two minutes.
   */
  check(address: string): Promise<boolean>
}

export function startRecorder(apiKey: string): Recorder {
  const history: Operation[] = []

  async function send(address: string, request: Request): Promise<Answer> {
    const start = performance.now()
    const answer = await exchange(address, request, apiKey)
    history.push({ request, start, end: performance.now(), animals: answer.animals })
    return answer
  }

  return {
    send,

    async check(address) {
      const deadline = performance.now() + CHECK_TIMEOUT_MS
      for (let after = 0n; ; ) {
        const { status, animals } = await send(address, { kind: 'list', limit: PAGE, after })
        if (animals === undefined) {
          if (performance.now() > deadline) throw new Error(`the animals cannot be listed: ${status}`)
          await delay(RETRY_MS)
          continue
        }
        if (animals.length < PAGE) break
        after = (animals.at(-1) as Animal).id
      }
      const violations = findViolations(history)
      for (const violation of violations.slice(0, SHOWN)) console.log(violation)
      console.log(`checked       ${history.length} requests`)
      console.log(`violations    ${violations.length}`)
      return violations.length === 0
    },
  }
}

async function exchange(address: string, request: Request, apiKey: string): Promise<Answer> {
  const headers: Record<string, string> = { authorization: `Bearer ${apiKey}` }
  if (request.kind === 'create') headers['content-type'] = 'application/json'
  if (request.kind === 'create' && request.idempotencyKey) headers['idempotency-key'] = request.idempotencyKey
  try {
    const response = await fetch(address + pathOf(request), {
      headers,
      ...(request.kind === 'create' && { method: 'POST', body: renderJson(request.sent) }),
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    })
    const text = await response.text()
    const animals = response.ok ? [parseJson(text) as Animal | Animal[]].flat() : undefined
    return { status: String(response.status), animals: response.status === 404 ? [] : animals }
  } catch (error) {
    const { name, cause } = error as Error
    return { status: (cause as NodeJS.ErrnoException | undefined)?.code ?? name, animals: undefined }
  }
}

function pathOf(request: Request): string {
  if (request.kind === 'fetch') return `/v1/pets/${request.id}`
  if (request.kind === 'create') return '/v1/pets'
  const { limit, after, before } = request
  const rest = after === undefined ? (before === undefined ? '' : `&before=${before}`) : `&after=${after}`
  return `/v1/pets?limit=${limit}${rest}`
}
