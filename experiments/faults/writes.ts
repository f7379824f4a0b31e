// Clients that add, change and remove animals without a pause, while something fails. Each write has an Idempotency-Key and is retried
// until it is acknowledged.

import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { parseJson } from '../../client/src/json.ts'
import type { Animal } from '../../src/animal.ts'
import { API_KEY } from '../../test/support/service.ts'
import { waitUntil } from '../../test/support/wait.ts'
import { changesFor, compare, type OwnAnimal, requestFor } from './own-animals.ts'

const REQUEST_TIMEOUT_MS = 20_000
const RETRY_MS = 20
const READ_TIMEOUT_MS = 120_000

export interface Writes {
  /** How often each status was received. A connection that broke counts as `no answer`. */
  readonly statuses: ReadonlyMap<string, number>
  acknowledged(): number
  /** Lets the clients finish their last write, and reads the catalogue. */
  finish(): Promise<Outcome>
}

export interface Outcome {
  /** How many writes. */
  readonly acknowledged: number
  /** An animal is not as its last acknowledged write has left it. */
  readonly lost: number
  /** One creation is stored more than once. */
  readonly duplicated: number
  readonly statuses: string
  /** 500 or any other status that no fault explains. */
  readonly unexpected: number
}

/** `addressOf` returns where the service listens now. */
export function writeContinuously(addressOf: () => string, clients = 8): Writes {
  const statuses = new Map<string, number>()
  const own: OwnAnimal[] = []
  let acknowledged = 0
  let isStopping = false

  function count(status: string): void {
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }

  /** Sends a write until it is acknowledged. Returns undefined after an answer that no fault explains. */
  async function write(agent: Agent, method: string, path: string, sent: Sent): Promise<string | undefined> {
    for (;;) {
      const reply = await send(addressOf(), agent, method, path, sent)
      count(reply === undefined ? 'no answer' : String(reply.status))
      if (reply !== undefined && reply.status < 300) {
        acknowledged++
        return reply.text
      }
      if (reply !== undefined && reply.status !== 503) return undefined
      await delay(RETRY_MS)
    }
  }

  async function run(client: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let number = 0; !isStopping; number++) {
      const name = `${client}-${number}`
      const body = JSON.stringify({ name, categoryId: number, status: 'available' })
      const text = await write(agent, 'POST', '/v1/pets', { body, idempotencyKey: name })
      if (text === undefined) continue
      const created = parseJson(text) as Animal
      let now: Animal | undefined = created
      let isUncertain = false
      for (const [index, change] of changesFor(number).entries()) {
        if (now === undefined || isUncertain) break
        const { method, path, sent, result } = requestFor(change, now, `${name}-${index}`)
        isUncertain = (await write(agent, method, path, sent)) === undefined
        if (!isUncertain) now = result
      }
      own.push({ created, now, isUncertain })
    }
    agent.destroy()
  }

  const running = Array.from({ length: clients }, (_, client) => run(client))
  return {
    statuses,
    acknowledged: () => acknowledged,
    async finish() {
      isStopping = true
      await Promise.all(running)
      const stored = await readCatalogue(addressOf())
      const usual = new Set(['200', '201', '204', '503', 'no answer'])
      return {
        acknowledged,
        ...compare(own, stored),
        statuses: describeStatuses(statuses),
        unexpected: [...statuses]
          .filter(([status]) => !usual.has(status))
          .reduce((sum, [, times]) => sum + times, 0),
      }
    },
  }
}

export function describeStatuses(statuses: ReadonlyMap<string, number>): string {
  return [...statuses].map(([status, times]) => `${status}: ${times}`).join(', ')
}

/** Resolves when some more writes were acknowledged. */
export async function wroteMore(writes: Writes): Promise<void> {
  const enough = writes.acknowledged() + 30
  await waitUntil(() => writes.acknowledged() >= enough, {
    what: 'animals are written',
    timeoutMs: 60_000,
  })
}

/** What every experiment with writes promises. */
export function isIntact({ lost, duplicated, unexpected, acknowledged }: Outcome): boolean {
  return acknowledged > 0 && lost === 0 && duplicated === 0 && unexpected === 0
}

export function describe({ acknowledged, lost, duplicated, statuses }: Outcome): string {
  return `${acknowledged.toLocaleString('en')} acknowledged, ${lost} lost, ${duplicated} duplicated (${statuses})`
}

/** Reads all pages of the list, or of the list with a filter such as `&status=sold`. */
export async function readCatalogue(address: string, apiKey = API_KEY, filter = ''): Promise<Animal[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const animals: Animal[] = []
  const deadline = performance.now() + READ_TIMEOUT_MS
  let path: string | undefined = `/v1/pets?limit=100${filter}`
  while (path !== undefined) {
    const reply = await send(address, agent, 'GET', path, { apiKey })
    if (reply?.status !== 200) {
      if (performance.now() > deadline) throw new Error(`the animals cannot be listed: ${reply?.status}`)
      await delay(RETRY_MS)
      continue
    }
    animals.push(...(parseJson(reply.text) as Animal[]))
    path = /<([^>]+)>; rel="next"/.exec(reply.link)?.[1]
  }
  agent.destroy()
  return animals
}

export interface Sent {
  readonly body?: string
  readonly idempotencyKey?: string
  readonly ifMatch?: string
  readonly apiKey?: string
}

export interface Answer {
  readonly status: number
  readonly text: string
  readonly link: string
  readonly etag: string
}

/** Resolves with undefined if the connection breaks or nothing arrives in time. */
export function send(
  address: string,
  agent: Agent | false,
  method: string,
  path: string,
  { body, idempotencyKey, ifMatch, apiKey = API_KEY }: Sent = {},
): Promise<Answer | undefined> {
  const headers = {
    authorization: `Bearer ${apiKey}`,
    ...(body !== undefined && {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...(ifMatch !== undefined && { 'if-match': ifMatch }),
  }
  return new Promise(resolve => {
    const outgoing = request(address + path, { agent, method, headers, timeout: REQUEST_TIMEOUT_MS })
    outgoing.on('response', response => {
      text(response).then(
        content =>
          resolve({
            status: response.statusCode ?? 0,
            text: content,
            link: String(response.headers.link ?? ''),
            etag: String(response.headers.etag ?? ''),
          }),
        () => resolve(undefined),
      )
    })
    outgoing.on('timeout', () => outgoing.destroy())
    outgoing.on('error', () => resolve(undefined))
    outgoing.end(body)
  })
}
