// Clients that create, list and fetch animals at a modest rate, and check every answer.

import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { parseJson } from '../../client/src/json.ts'
import { STATUSES } from '../../src/animal.ts'
import { type Sent, type StoredAnimal, send } from '../faults/creations.ts'

const CLIENTS = 8

/** The pause of a client before each request. All clients together send at most 270 requests per second. */
const PAUSE_MS = 30

/**
 * How often a client uses the same connection: about 50 requests. Otherwise all clients would soon be connected to the
 * process that is never killed.
 */
const ROUNDS_PER_CONNECTION = 4

/** How many problems are described. All are counted. */
const MAX_DESCRIBED = 20

const PAGE_LIMIT = 20

export interface Load {
  /** The animals that were answered with 201, in that order. */
  readonly acknowledged: readonly StoredAnimal[]
  /** How often each status was received. A connection that broke counts as `no answer`. */
  readonly statuses: ReadonlyMap<string, number>
  /** The number of wrong answers. Each request may get 503 or no answer. */
  unexpected(): number
  stop(): Promise<void>
}

export interface Destination {
  /** An address at which a service listens now. */
  address(): string
  apiKey(): string
}

interface ListedAnimal extends StoredAnimal {
  readonly status?: string
}

export function startLoad({ address, apiKey }: Destination): Load {
  const acknowledged: StoredAnimal[] = []
  const statuses = new Map<string, number>()
  let unexpected = 0
  let isStopping = false

  function report(problem: string): void {
    unexpected++
    if (unexpected <= MAX_DESCRIBED) console.log(`unexpected: ${problem}`)
  }

  /** Resolves with undefined if the answer is missing or not the expected one. */
  async function ask(agent: Agent, request: string, expected: number, sent?: Sent): Promise<unknown> {
    const [method = '', path = ''] = request.split(' ')
    await delay(PAUSE_MS)
    const reply = await send(address(), agent, method, path, { apiKey: apiKey(), ...sent })
    const status = String(reply?.status ?? 'no answer')
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (reply?.status === expected) return parseJson(reply.text)
    if (reply !== undefined && reply.status !== 503) report(`${request}: ${reply.status} ${reply.text}`)
    return undefined
  }

  async function list(agent: Agent, query: string): Promise<readonly ListedAnimal[] | undefined> {
    const page = (await ask(agent, `GET /v1/pets?limit=${PAGE_LIMIT}${query}`, 200)) as
      | ListedAnimal[]
      | undefined
    const isWrong = page?.some(({ id }, index) => index >= PAGE_LIMIT || id <= (page[index - 1]?.id ?? 0n))
    if (isWrong) report(`the page ${query} is too long or not in ascending order`)
    return page
  }

  function expectAnimal(what: string, { id, name }: StoredAnimal, found: StoredAnimal | undefined): void {
    if (found?.id !== id || found.name !== name) report(`${what}: found ${found?.id}, not ${id}`)
  }

  async function runClient(client: number): Promise<void> {
    let agent: Agent
    let creations = 0

    function newAnimal() {
      const name = `${client}-${creations++}`
      const status = STATUSES[creations % (STATUSES.length + 1)]
      return { name, body: JSON.stringify({ name, categoryId: creations, ...(status && { status }) }) }
    }

    /** Without an answer, nobody knows whether this animal is stored. */
    async function createOnce(): Promise<void> {
      const animal = await ask(agent, 'POST /v1/pets', 201, { body: newAnimal().body })
      if (animal !== undefined) acknowledged.push(animal as StoredAnimal)
    }

    /** Retries until there is an answer. Another retry and another animal with the same key must be recognised. */
    async function createWithKey(): Promise<void> {
      const { name, body } = newAnimal()
      const sent = { body, idempotencyKey: name }
      let animal: unknown
      while (animal === undefined && !isStopping) animal = await ask(agent, 'POST /v1/pets', 201, sent)
      if (animal === undefined) return
      acknowledged.push(animal as StoredAnimal)
      const again = await ask(agent, 'POST /v1/pets', 201, sent)
      if (again !== undefined) expectAnimal('retry', animal as StoredAnimal, again as StoredAnimal)
      await ask(agent, 'POST /v1/pets', 422, { ...sent, body: newAnimal().body })
    }

    async function read(): Promise<void> {
      await list(agent, '')
      const status = STATUSES[creations % STATUSES.length]
      const filtered = await list(agent, `&status=${status}`)
      if (filtered?.some(animal => animal.status !== status)) report(`status=${status}: others are listed`)
      const animal = acknowledged[Math.floor(Math.random() * acknowledged.length)]
      if (animal === undefined) return
      const { id } = animal
      const following = await list(agent, `&after=${id - 1n}`)
      if (following) expectAnimal('after', animal, following[0])
      const preceding = await list(agent, `&before=${id + 1n}`)
      if (preceding) expectAnimal('before', animal, preceding.at(-1))
      const fetched = await ask(agent, `GET /v1/pets/${id}`, 200)
      if (fetched) expectAnimal('fetch', animal, fetched as StoredAnimal)
    }

    async function sendInvalid(): Promise<void> {
      await ask(agent, 'GET /v1/pets?limit=0', 400)
      await ask(agent, 'GET /v1/pets', 401, { apiKey: 'wrong' })
      await ask(agent, 'GET /v1/pets/0', 404)
      await ask(agent, 'POST /v1/pets', 400, { body: '{}' })
    }

    while (!isStopping) {
      agent = new Agent({ keepAlive: true, maxSockets: 1 })
      await sendInvalid()
      for (let round = 0; round < ROUNDS_PER_CONNECTION && !isStopping; round++) {
        await createOnce()
        await createWithKey()
        await createWithKey()
        await read()
      }
      agent.destroy()
    }
  }

  const running = Array.from({ length: CLIENTS }, (_, client) => runClient(client))
  return {
    acknowledged,
    statuses,
    unexpected: () => unexpected,
    async stop() {
      isStopping = true
      await Promise.all(running)
    },
  }
}
