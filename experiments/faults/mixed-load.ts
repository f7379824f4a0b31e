// Clients that create, list and fetch animals at a modest rate, and check every answer.

import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { parseJson } from '../../client/src/json.ts'
import { type Animal, type NewAnimal, STATUSES, type Status } from '../../src/animal.ts'
import { INT64_MAX, renderJson } from '../../src/json.ts'
import { API_KEY } from '../../test/support/service.ts'
import { waitUntil } from '../../test/support/wait.ts'
import { findViolations, type Operation, type Request } from './history.ts'
import {
  type Acknowledged,
  compare,
  describe,
  describeStatuses,
  isIntact,
  type Outcome,
  readCatalogue,
  type Sent,
  send,
} from './writes.ts'

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

export interface Phase {
  readonly name: string
  acknowledged: number
  /** How often each status was received. A connection that broke counts as `no answer`. */
  readonly statuses: Map<string, number>
  /** The longest time without a new animal. */
  longestGapMs: number
  inFlight: number
}

export interface Load {
  /** The animals that were answered with 201, in that order. */
  readonly acknowledged: readonly Animal[]
  readonly phases: readonly Phase[]
  /** Begins a phase, and waits until all requests of the one before are answered. */
  begin(name: string): Promise<void>
  /** Resolves when this many more animals were acknowledged. */
  createdMore(count: number): Promise<void>
  stop(): Promise<void>
  /** The recorded requests. */
  readonly history: readonly Operation[]
  /** Reads the catalogue, and compares it with all answers, and with animals that were added by others. */
  check(added?: readonly Acknowledged[]): Promise<Outcome>
}

export interface Destination {
  /** An address at which a service listens now. */
  address(): string
  apiKey?(): string
  /** Begins the name of every animal: two loads on one database need different ones. */
  readonly prefix?: string
  /** Records every request, and checks them against each other at the end (history.ts). This needs memory. */
  readonly isRecorded?: boolean
}

/** The part of the list to ask for. */
interface Part {
  readonly after?: bigint
  readonly before?: bigint
  readonly status?: Status | undefined
}

export function startLoad({
  address,
  apiKey = () => API_KEY,
  prefix = '',
  isRecorded = false,
}: Destination): Load {
  const acknowledged: Animal[] = []
  const history: Operation[] = []
  const phases: Phase[] = []
  let newestId = 0n
  let acknowledgedAt = performance.now()
  let unexpected = 0
  let isStopping = false

  function beginPhase(name: string): Phase {
    acknowledgedAt = performance.now()
    const phase = { name, acknowledged: 0, statuses: new Map(), longestGapMs: 0, inFlight: 0 }
    phases.push(phase)
    return phase
  }
  let phase = beginPhase('start')

  function report(problem: string): void {
    unexpected++
    if (unexpected <= MAX_DESCRIBED) console.log(`unexpected: ${problem}`)
  }

  function acknowledge(animal: Animal): void {
    acknowledged.push(animal)
    if (animal.id > newestId) newestId = animal.id
    phase.acknowledged++
    phase.longestGapMs = Math.max(phase.longestGapMs, performance.now() - acknowledgedAt)
    acknowledgedAt = performance.now()
  }

  /** Resolves with undefined if the answer is missing or not the expected one. Each request may get 503 or no answer. */
  async function ask(
    agent: Agent,
    request: string,
    expected: number,
    sent?: Sent,
    recorded?: Request,
  ): Promise<unknown> {
    const [method = '', path = ''] = request.split(' ')
    await delay(PAUSE_MS)
    const sentIn = phase
    sentIn.inFlight++
    const start = performance.now()
    const reply = await send(address(), agent, method, path, { apiKey: apiKey(), ...sent })
    const answer = reply?.status === expected ? parseJson(reply.text) : undefined
    if (isRecorded && recorded !== undefined) {
      const animals = answer === undefined ? undefined : [answer as Animal | Animal[]].flat()
      history.push({ request: recorded, start, end: performance.now(), animals })
    }
    sentIn.inFlight--
    const status = String(reply?.status ?? 'no answer')
    sentIn.statuses.set(status, (sentIn.statuses.get(status) ?? 0) + 1)
    if (reply !== undefined && ![expected, 503].includes(reply.status))
      report(`${request}: ${reply.status} ${reply.text}`)
    return answer
  }

  async function list(agent: Agent, part: Part): Promise<readonly Animal[] | undefined> {
    const query = Object.entries(part)
      .map(([name, value]) => `&${name}=${value}`)
      .join('')
    const recorded: Request | undefined =
      part.status === undefined ? { kind: 'list', limit: PAGE_LIMIT, ...part } : undefined
    const path = `GET /v1/pets?limit=${PAGE_LIMIT}${query}`
    const page = (await ask(agent, path, 200, undefined, recorded)) as Animal[] | undefined
    const isWrong = page?.some(({ id }, index) => index >= PAGE_LIMIT || id <= (page[index - 1]?.id ?? 0n))
    if (isWrong) report(`the page ${query} is too long or not in ascending order`)
    return page
  }

  function expectAnimal(what: string, expected: Animal, found: unknown): void {
    if (!isDeepStrictEqual({ ...expected }, { ...(found as Animal) }))
      report(`${what}: found ${renderJson(found)}, not ${renderJson(expected)}`)
  }

  async function runClient(client: number): Promise<void> {
    let agent: Agent
    let creations = 0

    function newAnimal(): NewAnimal {
      const name = `${prefix}${client}-${creations++}`
      const status = STATUSES[creations % (STATUSES.length + 1)]
      return { name, categoryId: INT64_MAX - BigInt(creations), ...(status && { status }) }
    }

    async function sendCreation(animal: NewAnimal, idempotencyKey?: string): Promise<Animal | undefined> {
      const sent = { body: renderJson(animal), ...(idempotencyKey && { idempotencyKey }) }
      const recorded: Request = { kind: 'create', sent: animal, idempotencyKey }
      return (await ask(agent, 'POST /v1/pets', 201, sent, recorded)) as Animal | undefined
    }

    /** Without an Idempotency-Key it is sent once: after no answer, nobody knows whether the animal is stored. */
    async function create(animal: NewAnimal, idempotencyKey?: string): Promise<Animal | undefined> {
      let created: Animal | undefined
      do created = await sendCreation(animal, idempotencyKey)
      while (created === undefined && idempotencyKey !== undefined && !isStopping)
      if (created === undefined) return undefined
      expectAnimal('creation', { id: created.id, ...animal }, created)
      acknowledge(created)
      return created
    }

    /** Another retry and another animal with the same key must be recognised. */
    async function createWithKey(): Promise<void> {
      const animal = newAnimal()
      const idempotencyKey = animal.name
      const created = await create(animal, idempotencyKey)
      if (created === undefined) return
      const again = await sendCreation(animal, idempotencyKey)
      if (again !== undefined) expectAnimal('retry', created, again)
      await ask(agent, 'POST /v1/pets', 422, { body: renderJson(newAnimal()), idempotencyKey })
    }

    async function read(): Promise<void> {
      await list(agent, {})
      const newest = newestId
      const last = await list(agent, { before: INT64_MAX })
      if (last && (last.at(-1)?.id ?? 0n) < newest) report(`the last page lacks ${newest}`)
      const status = STATUSES[creations % STATUSES.length]
      const filtered = await list(agent, { status })
      if (filtered?.some(animal => animal.status !== status)) report(`status=${status}: others are listed`)
      const animal = acknowledged[Math.floor(Math.random() * acknowledged.length)]
      if (animal === undefined) return
      const { id } = animal
      const following = await list(agent, { after: id - 1n })
      if (following) expectAnimal('after', animal, following[0])
      const preceding = await list(agent, { before: id + 1n })
      if (preceding) expectAnimal('before', animal, preceding.at(-1))
      const fetched = await ask(agent, `GET /v1/pets/${id}`, 200, undefined, { kind: 'fetch', id })
      if (fetched) expectAnimal('fetch', animal, fetched)
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
        await create(newAnimal())
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
    phases,
    history,
    async begin(name) {
      const before = phase
      phase = beginPhase(name)
      await waitUntil(() => before.inFlight === 0, { what: 'every request has an answer', timeoutMs: 60_000 })
    },
    async createdMore(count) {
      const enough = acknowledged.length + count
      await waitUntil(() => acknowledged.length >= enough, {
        what: 'the clients have created animals',
        timeoutMs: 180_000,
      })
    },
    async stop() {
      isStopping = true
      await Promise.all(running)
    },
    async check(added = []) {
      const start = performance.now()
      const stored = await readCatalogue(address(), apiKey())
      // As one list that is not full, so that it must have every animal that any answer has shown.
      const request = { kind: 'list', limit: stored.length + 1 } as const
      if (isRecorded) history.push({ request, start, end: performance.now(), animals: stored })
      const statuses = new Map<string, number>()
      for (const [status, count] of phases.flatMap(each => [...each.statuses]))
        statuses.set(status, (statuses.get(status) ?? 0) + count)
      return {
        ...compare([...acknowledged, ...added], stored),
        statuses: describeStatuses(statuses),
        unexpected,
      }
    },
  }
}

/** Prints what a load has measured, and sets the exit code. `mayFail` tells in which phases requests may fail, and how. */
export async function reportLoad(
  load: Load,
  mayFail: (phase: string, status: string) => boolean,
): Promise<void> {
  for (const { name, acknowledged, statuses, longestGapMs } of load.phases)
    console.log(
      `${name}: ${acknowledged} acknowledged, at most ${(longestGapMs / 1_000).toFixed(1)} s without a 201 (${describeStatuses(statuses)})`,
    )
  const outcome = await load.check()
  console.log(`${describe(outcome)}; ${outcome.unexpected} wrong answers`)
  const hasFailed = load.phases.some(({ name, statuses }) =>
    ['503', 'no answer'].some(status => statuses.has(status) && !mayFail(name, status)),
  )
  const violations = findViolations(load.history)
  for (const violation of violations.slice(0, MAX_DESCRIBED)) console.log(violation)
  console.log(`${load.history.length} requests checked against each other, ${violations.length} violations`)
  const hasPassed = isIntact(outcome) && violations.length === 0 && !hasFailed
  console.log(hasPassed ? '1 passed, 0 failed' : '0 passed, 1 failed')
  process.exitCode = hasPassed ? 0 : 1
}
