// Clients that add, change, remove, list and fetch animals at a modest rate, and check every answer.

import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { parseJson } from '../../client/src/json.ts'
import { type Animal, type NewAnimal, STATUSES, type Status } from '../../src/animal.ts'
import { INT64_MAX } from '../../src/int64.ts'
import { renderJson } from '../../src/json.ts'
import { API_KEY } from '../../test/support/service.ts'
import { waitUntil } from '../../test/support/wait.ts'
import { findViolations, type Operation, type Request } from './history.ts'
import { type Change, changesFor, compare, type OwnAnimal, requestFor } from './own-animals.ts'
import {
  type Answer,
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
 * How often a client uses the same connection: about 100 requests. Otherwise all clients would soon be connected to the
 * process that is never killed.
 */
const ROUNDS_PER_CONNECTION = 4

/** How many problems are described. All are counted. */
export const MAX_DESCRIBED = 20

const PAGE_LIMIT = 20

interface Phase {
  readonly name: string
  /** How many writes. */
  acknowledged: number
  /** How often each status was received. A connection that broke counts as `no answer`. */
  readonly statuses: Map<string, number>
  /** The longest time without an acknowledged write. */
  longestGapMs: number
  inFlight: number
}

export interface Load {
  /** The animals that the clients have added, in that order. */
  readonly own: readonly OwnAnimal[]
  /** How many writes were acknowledged. */
  acknowledged(): number
  readonly phases: readonly Phase[]
  /** Begins a phase, and waits until all requests of the one before are answered. */
  begin(name: string): Promise<void>
  /** Resolves when this many more writes were acknowledged. */
  wroteMore(count: number): Promise<void>
  stop(): Promise<void>
  /** The recorded requests. */
  readonly history: readonly Operation[]
  /** Reads the catalogue, and compares it with all answers, and with animals that others have added. */
  check(earlier?: Earlier): Promise<Outcome>
}

/** What is in the database, and not from this load. */
export interface Earlier {
  /** The names of animals that nobody changes. */
  readonly added: readonly string[]
  readonly own?: readonly OwnAnimal[]
}

interface Destination {
  /** An address at which a service listens now. */
  address(): string
  apiKey?(): string
  /** Begins the name of every animal: two loads on one database need different ones. */
  readonly prefix?: string
  /** Records every request, and checks them against each other at the end (history.ts). This needs memory. */
  readonly isRecorded?: boolean
  /** Where an older version may run. */
  readonly older?: {
    /**
     * An instance that knows changes and removals. They are sent to no other, nor are retries of the creation of an animal that was
     * changed. While there is none, they wait.
     */
    changesTo(): string | undefined
    /** Whether the older version may be storing creations beside this one, which then may answer a retry with 422. */
    isBeside(): boolean
  }
}

/** The part of the list to ask for. */
interface Part {
  readonly after?: bigint
  readonly before?: bigint
  readonly status?: Status | undefined
}

interface Asked {
  readonly method?: 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  /** The statuses that are right. Each request may get 503 or no answer, too. */
  readonly expected: readonly number[]
  readonly sent?: Sent
  readonly recorded?: Request | undefined
  readonly to?: string
}

/** An animal of a client, with what is still to be done to it. */
interface Kept extends OwnAnimal {
  now: Animal | undefined
  isUncertain: boolean
  readonly changes: readonly Change[]
  /** How many of them were acknowledged. */
  changed: number
  /** What answers a retry of the creation: 201, or also 422. */
  readonly retried: readonly number[]
}

export function startLoad({
  address,
  apiKey = () => API_KEY,
  prefix = '',
  isRecorded = false,
  older,
}: Destination): Load {
  const own: Kept[] = []
  const history: Operation[] = []
  const phases: Phase[] = []
  const changesTo = older?.changesTo ?? address
  let acknowledged = 0
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

  function acknowledge(): void {
    acknowledged++
    phase.acknowledged++
    phase.longestGapMs = Math.max(phase.longestGapMs, performance.now() - acknowledgedAt)
    acknowledgedAt = performance.now()
  }

  /** Resolves with undefined if there is no answer, or not a right one. */
  async function ask(agent: Agent, asked: Asked): Promise<Answer | undefined> {
    const { method = 'GET', path, expected, sent, recorded, to = address() } = asked
    const sentIn = phase
    sentIn.inFlight++
    const start = performance.now()
    const reply = await send(to, agent, method, path, { apiKey: apiKey(), ...sent })
    if (isRecorded && recorded !== undefined)
      history.push({ request: recorded, start, end: performance.now(), animals: animalsOf(reply) })
    sentIn.inFlight--
    const status = String(reply?.status ?? 'no answer')
    sentIn.statuses.set(status, (sentIn.statuses.get(status) ?? 0) + 1)
    const isRight = reply !== undefined && expected.includes(reply.status)
    if (reply !== undefined && !isRight && reply.status !== 503)
      report(`${method} ${path}: ${reply.status} ${reply.text}`)
    await delay(PAUSE_MS)
    return isRight ? reply : undefined
  }

  async function list(agent: Agent, part: Part): Promise<readonly Animal[] | undefined> {
    const query = Object.entries(part)
      .map(([name, value]) => `&${name}=${value}`)
      .join('')
    const recorded: Request | undefined =
      part.status === undefined ? { kind: 'list', limit: PAGE_LIMIT, ...part } : undefined
    const path = `/v1/pets?limit=${PAGE_LIMIT}${query}`
    const page = animalsOf(await ask(agent, { path, expected: [200], recorded }))
    const isWrong = page?.some(({ id }, index) => index >= PAGE_LIMIT || id <= (page[index - 1]?.id ?? 0n))
    if (isWrong) report(`the page ${query} is too long or not in ascending order`)
    return page
  }

  function expectAnimal(what: string, expected: Animal | undefined, found: Animal | undefined): void {
    if (!isDeepStrictEqual(found, expected))
      report(`${what}: found ${renderJson(found)}, not ${renderJson(expected)}`)
  }

  async function runClient(client: number): Promise<void> {
    let agent: Agent
    let creations = 0
    const kept: Kept[] = []
    /** Those that wait for changes. */
    let waiting: Kept[] = []

    function newAnimal(): NewAnimal {
      const name = `${prefix}${client}-${creations++}`
      const status = STATUSES[creations % (STATUSES.length + 1)]
      return { name, categoryId: INT64_MAX - BigInt(creations), ...(status && { status }) }
    }

    async function sendCreation(
      animal: NewAnimal,
      idempotencyKey?: string,
      asked?: Pick<Asked, 'expected' | 'to'>,
    ): Promise<Animal | undefined> {
      const sent = { body: renderJson(animal), ...(idempotencyKey && { idempotencyKey }) }
      const recorded: Request = { kind: 'create', sent: animal, idempotencyKey }
      const request = { method: 'POST', path: '/v1/pets', expected: [201], sent, recorded } as const
      return animalsOf(await ask(agent, { ...request, ...asked }))?.[0]
    }

    /** Without an Idempotency-Key it is sent once: after no answer, nobody knows whether the animal is stored. */
    async function create(
      animal: NewAnimal,
      changes: readonly Change[],
      idempotencyKey?: string,
    ): Promise<Kept | undefined> {
      const wasBeside = older?.isBeside()
      let created: Animal | undefined
      do created = await sendCreation(animal, idempotencyKey)
      while (created === undefined && idempotencyKey !== undefined && !isStopping)
      if (created === undefined) return undefined
      expectAnimal('creation', { id: created.id, ...animal }, created)
      acknowledge()
      const retried = wasBeside || older?.isBeside() ? [201, 422] : [201]
      const animalKept = { created, now: created, isUncertain: false, changes, changed: 0, retried }
      own.push(animalKept)
      kept.push(animalKept)
      return animalKept
    }

    /** Another retry and another animal with the same key must be recognised. */
    async function createWithKey(): Promise<void> {
      const number = creations
      const animal = newAnimal()
      const created = await create(animal, changesFor(number >> 1), animal.name)
      if (created === undefined) return
      const again = await sendCreation(animal, animal.name)
      if (again !== undefined) expectAnimal('retry', created.created, again)
      const sent = { body: renderJson(newAnimal()), idempotencyKey: animal.name }
      await ask(agent, { method: 'POST', path: '/v1/pets', expected: [422], sent })
      if (created.changes.length > 0) waiting.push(created)
    }

    /** Returns whether all changes of the animal were acknowledged. Each is repeated until then, and once more. */
    async function change(animal: Kept): Promise<boolean> {
      const { created, changes, now } = animal
      const next = changes[animal.changed]
      if (next === undefined || now === undefined) return true
      const { result, status, ...request } = requestFor(next, now, `${created.name}-${animal.changed}`)
      const { id } = created
      const recorded: Request = result ? { kind: 'change', id, sent: result } : { kind: 'remove', id }
      const attempt = async (to: string): Promise<boolean> => {
        const reply = await ask(agent, { ...request, expected: [status], recorded, to })
        if (reply !== undefined) expectAnimal(request.method, result, animalsOf(reply)?.[0])
        return reply !== undefined
      }
      for (let isAcknowledged = false; !isAcknowledged; ) {
        const to = changesTo()
        if (to === undefined || isStopping) return false
        animal.isUncertain = true
        isAcknowledged = await attempt(to)
      }
      acknowledge()
      animal.now = result
      animal.isUncertain = false
      animal.changed++
      const to = changesTo()
      if (to !== undefined) await attempt(to)
      return change(animal)
    }

    /** The creation of an animal that was changed or removed is still answered as the first time. */
    async function retryCreation({ created, retried }: Kept): Promise<void> {
      const { id: _, ...animal } = created
      const to = changesTo()
      if (to === undefined) return
      const again = await sendCreation(animal, created.name, { expected: retried, to })
      if (again !== undefined) expectAnimal('retry after changes', created, again)
    }

    async function changeWaiting(): Promise<void> {
      const left: Kept[] = []
      for (const animal of waiting)
        if (await change(animal)) await retryCreation(animal)
        else left.push(animal)
      waiting = left
    }

    async function read(): Promise<void> {
      await list(agent, {})
      const newest = kept.findLast(({ now, isUncertain }) => now !== undefined && !isUncertain)?.created.id
      const last = await list(agent, { before: INT64_MAX })
      if (last && newest !== undefined && (last.at(-1)?.id ?? 0n) < newest)
        report(`the last page lacks ${newest}`)
      const status = STATUSES[creations % STATUSES.length]
      const filtered = await list(agent, { status })
      if (filtered?.some(animal => animal.status !== status)) report(`status=${status}: others are listed`)
      const animal = kept[Math.floor(Math.random() * kept.length)]
      if (animal === undefined || animal.isUncertain) return
      const { id } = animal.created
      const isIt = (found: Animal | undefined) => found?.id === id
      const following = await list(agent, { after: id - 1n })
      if (following) expectAnimal('after', animal.now, following.find(isIt))
      const preceding = await list(agent, { before: id + 1n })
      if (preceding) expectAnimal('before', animal.now, preceding.find(isIt))
      const expected = [animal.now ? 200 : 404]
      const recorded = { kind: 'fetch', id } as const
      const fetched = await ask(agent, { path: `/v1/pets/${id}`, expected, recorded })
      if (fetched) expectAnimal('fetch', animal.now, animalsOf(fetched)?.[0])
    }

    async function sendInvalid(): Promise<void> {
      await ask(agent, { path: '/v1/pets?limit=0', expected: [400] })
      await ask(agent, { path: '/v1/pets', expected: [401], sent: { apiKey: 'wrong' } })
      await ask(agent, { path: '/v1/pets/0', expected: [404] })
      await ask(agent, { method: 'POST', path: '/v1/pets', expected: [400], sent: { body: '{}' } })
      const expected = older === undefined ? [404] : [404, 405]
      await ask(agent, { method: 'PATCH', path: '/v1/pets/0', expected, sent: { body: '{}' } })
    }

    while (!isStopping) {
      agent = new Agent({ keepAlive: true, maxSockets: 1 })
      await sendInvalid()
      for (let round = 0; round < ROUNDS_PER_CONNECTION && !isStopping; round++) {
        await create(newAnimal(), [])
        await createWithKey()
        await createWithKey()
        await changeWaiting()
        await read()
      }
      agent.destroy()
    }
  }

  const running = Array.from({ length: CLIENTS }, (_, client) => runClient(client))
  return {
    own,
    acknowledged: () => acknowledged,
    phases,
    history,
    async begin(name) {
      const before = phase
      phase = beginPhase(name)
      await waitUntil(() => before.inFlight === 0, { what: 'every request has an answer', timeoutMs: 60_000 })
    },
    async wroteMore(count) {
      const enough = acknowledged + count
      await waitUntil(() => acknowledged >= enough, {
        what: 'the clients have written',
        timeoutMs: 180_000,
      })
    },
    async stop() {
      isStopping = true
      await Promise.all(running)
    },
    async check(earlier = { added: [] }) {
      const start = performance.now()
      const stored = await readCatalogue(address(), apiKey())
      // As one list that is not full, so that it must have every animal that any answer has shown.
      const request = { kind: 'list', limit: stored.length + 1 } as const
      if (isRecorded) history.push({ request, start, end: performance.now(), animals: stored })
      const statuses = new Map<string, number>()
      for (const [status, count] of phases.flatMap(each => [...each.statuses]))
        statuses.set(status, (statuses.get(status) ?? 0) + count)
      return {
        acknowledged,
        ...compare([...(earlier.own ?? []), ...own], stored, earlier.added),
        statuses: describeStatuses(statuses),
        unexpected,
      }
    },
  }
}

/** Returns undefined if the answer says nothing about animals. */
function animalsOf(reply: Answer | undefined): readonly Animal[] | undefined {
  if (reply?.status === 200 || reply?.status === 201)
    return [parseJson(reply.text) as Animal | Animal[]].flat()
  return reply?.status === 204 || reply?.status === 404 ? [] : undefined
}

/** Prints what a load has measured, and sets the exit code. `mayFail` tells in which phases requests may fail, and how. */
export async function reportLoad(
  load: Load,
  mayFail: (phase: string, status: string) => boolean,
): Promise<void> {
  for (const { name, acknowledged, statuses, longestGapMs } of load.phases)
    console.log(
      `${name}: ${acknowledged} acknowledged, at most ${(longestGapMs / 1_000).toFixed(1)} s without a write (${describeStatuses(statuses)})`,
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
