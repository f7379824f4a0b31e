// One workload on several contenders, in turns: what each uses for a request, and how that compares to a bare server.

import { API_KEY, BARE, WRONG_KEY } from './contenders.ts'
import { putLoad } from './load.ts'
import type { FullAnswer, Running } from './processes.ts'
import { check, type Operation, type Workload } from './workloads.ts'

/** How many different requests a workload is made of, and how many answers are looked at before and after. */
const DRAWN = 1_000
const SAMPLE = 20

export interface Rounds {
  /** Rounds that do not count: Node compiles what it runs often. */
  readonly warmUp: number
  readonly count: number
  readonly seconds: number
}

interface Round {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly cpuMicros: number
  readonly memoryMiB: number
}

export interface Measured extends Round {
  readonly workload: string
  readonly contender: string
  /** CPU per request of the bare server divided by that of this one, in the median of their rounds. */
  readonly ratio: number
}

/** What the service takes for a request as its catalogue grows, measured side by side. */
export interface Growth {
  readonly database: Table['database']
  readonly workload: string
  /** For each size, in order: what it takes, and how many times that of the first. */
  readonly costs: readonly { readonly cpuMicros: number; readonly ratio: number }[]
}

export interface Table {
  readonly database: 'SQLite' | 'PostgreSQL'
  readonly size: number
  readonly measured: readonly Measured[]
}

/** Throws if any answer was wrong: a run with one does not count. */
export async function measure(
  workload: Workload,
  size: number,
  all: readonly Running[],
  imitated: Running,
  rounds: Rounds,
): Promise<Measured[]> {
  const operations = draw(workload, size)
  const running = all.filter(({ contender }) => contender.hasKeys || !workload.isRejected)
  for (const each of running) {
    if (each.contender === BARE) await each.imitate(await answersOf(imitated, workload, operations))
  }
  const found = await inTurns(
    workload,
    running.map(each => ({ running: each, operations })),
    rounds,
  )
  const bare = found[running.findIndex(({ contender }) => contender === BARE)] ?? []
  return found.map((results, index) => ({
    workload: workload.name,
    contender: (running[index] as Running).contender.name,
    requestsPerSecond: median(results.map(result => result.requestsPerSecond)),
    p50Ms: median(results.map(result => result.p50Ms)),
    p99Ms: median(results.map(result => result.p99Ms)),
    cpuMicros: least(results),
    memoryMiB: Math.max(...results.map(result => result.memoryMiB)),
    ratio: ratioOf(bare, results),
  }))
}

/** The CPU for a request of the same service on catalogues of several sizes. */
export async function measureGrowth(
  workload: Workload,
  services: readonly { readonly size: number; readonly running: Running }[],
  rounds: Rounds,
): Promise<Growth['costs']> {
  const parts = services.map(({ size, running }) => ({ running, operations: draw(workload, size) }))
  const found = await inTurns(workload, parts, rounds)
  return found.map(results => ({ cpuMicros: least(results), ratio: ratioOf(results, found[0] ?? []) }))
}

/** The rounds of each, in the order given. Every other round goes backwards, so that nobody always comes first. */
async function inTurns(
  workload: Workload,
  parts: readonly { readonly running: Running; readonly operations: readonly Operation[] }[],
  { warmUp, count, seconds }: Rounds,
): Promise<Round[][]> {
  const found: Round[][] = parts.map(() => [])
  for (let round = 1 - warmUp; round <= count; round++) {
    const order = [...parts.entries()]
    for (const [index, { running, operations }] of round % 2 === 0 ? order : order.toReversed()) {
      const result = await oneRound(running, workload, operations, seconds)
      if (round > 0) found[index]?.push(result)
    }
  }
  return found
}

/** What else the machine does can only add to what a request costs: the round that it disturbed least counts. */
function least(rounds: readonly Round[]): number {
  return Math.min(...rounds.map(({ cpuMicros }) => cpuMicros))
}

/** Within each round: a machine that is slow for a while is slow for all who take their turns then. */
function ratioOf(rounds: readonly Round[], others: readonly Round[]): number {
  return median(rounds.map(({ cpuMicros }, index) => cpuMicros / (others[index]?.cpuMicros ?? Number.NaN)))
}

async function oneRound(
  running: Running,
  workload: Workload,
  operations: readonly Operation[],
  seconds: number,
): Promise<Round> {
  const { contender, address, usage } = running
  const key = workload.isRejected ? WRONG_KEY : API_KEY
  await checkSample(running, workload, operations, key)
  const before = await usage()
  const isRejected = workload.isRejected ?? false
  const load = await putLoad({ address, asks: operations.map(contender.ask), key, isRejected, seconds })
  const after = await usage()
  await checkSample(running, workload, operations, key)
  if (load.wrong > 0 || load.broken > 0) {
    throw new Error(`${contender.name}, ${workload.name}: ${load.wrong} wrong, ${load.broken} broken`)
  }
  return {
    requestsPerSecond: load.requests / load.seconds,
    p50Ms: load.p50Ms,
    p99Ms: load.p99Ms,
    cpuMicros: (after.cpuMicros - before.cpuMicros) / load.requests,
    memoryMiB: after.rssBytes / 2 ** 20,
  }
}

/** A bare server sends the same for everything: only its status can be looked at. */
async function checkSample(
  { contender, send }: Running,
  workload: Workload,
  operations: readonly Operation[],
  key: string,
): Promise<void> {
  for (const operation of operations.slice(0, SAMPLE)) {
    const answer = await send(contender.ask(operation), key)
    if (contender !== BARE) check(operation, workload.isRejected ?? false, answer)
    else if (answer.status >= 500) throw new Error('the bare server does not know what to answer')
  }
}

/** What the service answers, for the bare server to send: one answer for each method. */
async function answersOf(
  { contender, send }: Running,
  workload: Workload,
  operations: readonly Operation[],
): Promise<Record<string, FullAnswer>> {
  const answers: Record<string, FullAnswer> = {}
  for (const operation of operations) {
    const ask = contender.ask(operation)
    if (ask.method in answers) continue
    const { headers, ...answer } = await send(ask, workload.isRejected ? WRONG_KEY : API_KEY)
    // Node adds these by itself.
    const { date: _date, connection: _connection, 'keep-alive': _keepAlive, ...others } = headers
    answers[ask.method] = { ...answer, headers: others }
  }
  return answers
}

/** The same operations for everyone, and in every run. */
function draw(workload: Workload, size: number): Operation[] {
  let seed = 1
  const random = () => {
    seed = (seed * 48_271) % 0x7fffffff
    return seed / 0x7fffffff
  }
  return Array.from({ length: DRAWN }, () => workload.draw(size, random))
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.slice(Math.ceil(values.length / 2) - 1, Math.floor(values.length / 2) + 1)
  return middle.reduce((sum, value) => sum + value, 0) / middle.length
}
