// Clients that create animals without a pause, while something fails. Each creation has an Idempotency-Key and is retried
// until it is acknowledged.

import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { parseJson } from '../../client/src/json.ts'
import type { Animal } from '../../src/animal.ts'
import { API_KEY } from '../../test/support/service.ts'
import { waitUntil } from '../../test/support/wait.ts'

const REQUEST_TIMEOUT_MS = 20_000
const RETRY_MS = 20
const READ_TIMEOUT_MS = 120_000

export interface Creations {
  /** How often each status was received. A connection that broke counts as `no answer`. */
  readonly statuses: ReadonlyMap<string, number>
  acknowledged(): number
  /** Lets the clients finish their last creation, and reads the catalogue. */
  finish(): Promise<Outcome>
}

export interface Outcome {
  readonly acknowledged: number
  /** Acknowledged, but not stored under the same id. */
  readonly lost: number
  /** Stored more than once. */
  readonly duplicated: number
  readonly statuses: string
  /** 500 or any other status that no fault explains. */
  readonly unexpected: number
}

/** `addressOf` returns where the service listens now. */
export function createContinuously(addressOf: () => string, clients = 8): Creations {
  const statuses = new Map<string, number>()
  const acknowledged: StoredAnimal[] = []
  let isStopping = false

  function count(status: string): void {
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }

  async function create(client: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let number = 0; !isStopping; number++) {
      const name = `${client}-${number}`
      const body = JSON.stringify({ name, categoryId: number })
      for (;;) {
        const reply = await send(addressOf(), agent, 'POST', '/v1/pets', { body, idempotencyKey: name })
        count(reply === undefined ? 'no answer' : String(reply.status))
        if (reply?.status === 201) {
          acknowledged.push(parseJson(reply.text) as StoredAnimal)
          break
        }
        await delay(RETRY_MS)
      }
    }
    agent.destroy()
  }

  const running = Array.from({ length: clients }, (_, client) => create(client))
  return {
    statuses,
    acknowledged: () => acknowledged.length,
    async finish() {
      isStopping = true
      await Promise.all(running)
      const stored = await readCatalogue(addressOf())
      const expected = new Set(['201', '503', 'no answer'])
      return {
        ...compare(acknowledged, stored),
        statuses: describeStatuses(statuses),
        unexpected: [...statuses]
          .filter(([status]) => !expected.has(status))
          .reduce((sum, [, times]) => sum + times, 0),
      }
    },
  }
}

/** An animal without an id may be stored under any. Every name is used only once. */
export function compare(
  acknowledged: readonly Acknowledged[],
  stored: readonly StoredAnimal[],
): Pick<Outcome, 'acknowledged' | 'lost' | 'duplicated'> {
  const ids = new Map(stored.map(({ name, id }) => [name, id]))
  return {
    acknowledged: acknowledged.length,
    lost: acknowledged.filter(({ name, id = ids.get(name) }) => id === undefined || ids.get(name) !== id)
      .length,
    duplicated: stored.length - ids.size,
  }
}

export function describeStatuses(statuses: ReadonlyMap<string, number>): string {
  return [...statuses].map(([status, times]) => `${status}: ${times}`).join(', ')
}

/** Resolves when the clients have created some more animals. */
export async function createdMore(creations: Creations): Promise<void> {
  const enough = creations.acknowledged() + 30
  await waitUntil(() => creations.acknowledged() >= enough, {
    what: 'animals are created',
    timeoutMs: 60_000,
  })
}

/** What every experiment with creations promises. */
export function isIntact({ lost, duplicated, unexpected, acknowledged }: Outcome): boolean {
  return acknowledged > 0 && lost === 0 && duplicated === 0 && unexpected === 0
}

export function describe({ acknowledged, lost, duplicated, statuses }: Outcome): string {
  return `${acknowledged.toLocaleString('en')} acknowledged, ${lost} lost, ${duplicated} duplicated (${statuses})`
}

export interface StoredAnimal {
  readonly id: bigint
  readonly name: string
}

export type Acknowledged = Pick<StoredAnimal, 'name'> & Partial<StoredAnimal>

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
  readonly apiKey?: string
}

interface Answer {
  readonly status: number
  readonly text: string
  readonly link: string
}

/** Resolves with undefined if the connection breaks or nothing arrives in time. */
export function send(
  address: string,
  agent: Agent | false,
  method: string,
  path: string,
  { body, idempotencyKey, apiKey = API_KEY }: Sent = {},
): Promise<Answer | undefined> {
  const headers = {
    authorization: `Bearer ${apiKey}`,
    ...(body !== undefined && {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
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
          }),
        () => resolve(undefined),
      )
    })
    outgoing.on('timeout', () => outgoing.destroy())
    outgoing.on('error', () => resolve(undefined))
    outgoing.end(body)
  })
}
