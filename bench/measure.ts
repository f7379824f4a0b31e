// Measures one workload on several contenders in turns: the cost of a request, and its ratio to the bare server.

import { ANIMAL_STORE, API_KEY, BARE, type Contender, WRONG_KEY } from './contenders.ts'
import type { HttpResponse } from './http.ts'
import { generateLoad } from './load.ts'
import type { ResponsesByMethod, RunningContender } from './processes.ts'
import { checkResponse, type Operation, type Workload } from './workloads.ts'

/** How many different operations a workload has. */
const OPERATION_COUNT = 1_000
/** How many responses are checked in full before and after each round. */
const SAMPLE_SIZE = 20

export interface Rounds {
  /** Rounds that do not count: V8 compiles hot code first. */
  readonly warmUp: number
  readonly count: number
  readonly seconds: number
}

interface RoundResult {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly cpuMicros: number
  /** The CPU time of the contender's PostgreSQL server for each request. 0 on SQLite. */
  readonly databaseCpuMicros: number
  readonly memoryMiB: number
}

export interface Measurement extends RoundResult {
  readonly workload: string
  readonly contender: string
  /**
   * CPU per request of the bare server divided by that of this contender and its database: the median over the rounds.
   */
  readonly ratio: number
  /** CPU per request of this contender and its database divided by that of this service: the median over the rounds. */
  readonly relativeToService: number
}

/** All contenders on one database and one size of catalogue. */
export interface Comparison {
  readonly database: 'SQLite' | 'PostgreSQL'
  readonly size: number
  readonly measurements: readonly Measurement[]
}

/** The cost of a request to the service as its catalogue grows. All sizes take turns. */
export interface Growth {
  readonly database: Comparison['database']
  readonly workload: string
  /** One for each size, in ascending order. `ratio` is relative to the smallest. */
  readonly costs: readonly { readonly cpuMicros: number; readonly ratio: number }[]
}

/** The bare server sends what `animalStore` answers. Throws if any response is wrong: the run does not count then. */
export async function measure(
  workload: Workload,
  size: number,
  contenders: readonly RunningContender[],
  animalStore: RunningContender,
  rounds: Rounds,
): Promise<Measurement[]> {
  const operations = drawOperations(workload, size)
  const participants = contenders.filter(({ contender }) => contender.checksKeys || !workload.usesWrongKey)
  for (const each of participants) {
    if (each.contender !== BARE) continue
    await each.setResponses(await recordResponses(animalStore, workload, operations))
  }
  const results = await runRounds(
    workload,
    participants.map(running => ({ running, operations })),
    rounds,
  )
  const resultsOf = (wanted: Contender) =>
    results[participants.findIndex(({ contender }) => contender === wanted)] ?? []
  return results.map((own, index) => ({
    workload: workload.name,
    contender: (participants[index] as RunningContender).contender.name,
    requestsPerSecond: median(own.map(result => result.requestsPerSecond)),
    p50Ms: median(own.map(result => result.p50Ms)),
    p99Ms: median(own.map(result => result.p99Ms)),
    ...pickCpu(bestRound(own)),
    memoryMiB: Math.max(...own.map(result => result.memoryMiB)),
    ratio: cpuRatio(resultsOf(BARE), own),
    relativeToService: cpuRatio(own, resultsOf(ANIMAL_STORE)),
  }))
}

/** Measures the service on catalogues of several sizes. */
export async function measureGrowth(
  workload: Workload,
  services: readonly { readonly size: number; readonly running: RunningContender }[],
  rounds: Rounds,
): Promise<Growth['costs']> {
  const participants = services.map(({ size, running }) => ({
    running,
    operations: drawOperations(workload, size),
  }))
  const results = await runRounds(workload, participants, rounds)
  return results.map(own => ({ cpuMicros: totalCpu(bestRound(own)), ratio: cpuRatio(own, results[0] ?? []) }))
}

/** Returns the results of each participant. The order is reversed in every other round, so that none is always first. */
async function runRounds(
  workload: Workload,
  participants: readonly {
    readonly running: RunningContender
    readonly operations: readonly Operation[]
  }[],
  { warmUp, count, seconds }: Rounds,
): Promise<RoundResult[][]> {
  const results: RoundResult[][] = participants.map(() => [])
  for (let round = 1 - warmUp; round <= count; round++) {
    const order = [...participants.entries()]
    for (const [index, { running, operations }] of round % 2 === 0 ? order : order.toReversed()) {
      const result = await runRound(running, workload, operations, seconds)
      if (round > 0) results[index]?.push(result)
    }
  }
  return results
}

/** Other work on the machine can only add to the cost of a request, so the best round is the most accurate. */
function bestRound(rounds: readonly RoundResult[]): RoundResult {
  return rounds.reduce((best, round) => (totalCpu(round) < totalCpu(best) ? round : best))
}

function pickCpu({ cpuMicros, databaseCpuMicros }: RoundResult) {
  return { cpuMicros, databaseCpuMicros }
}

function totalCpu({ cpuMicros, databaseCpuMicros }: RoundResult): number {
  return cpuMicros + databaseCpuMicros
}

/** Compares within each round: a machine that is slow for a while is slow for every participant of that round. */
function cpuRatio(rounds: readonly RoundResult[], others: readonly RoundResult[]): number {
  return median(
    rounds.map((round, index) => {
      const other = others[index]
      return other === undefined ? Number.NaN : totalCpu(round) / totalCpu(other)
    }),
  )
}

async function runRound(
  running: RunningContender,
  workload: Workload,
  operations: readonly Operation[],
  seconds: number,
): Promise<RoundResult> {
  const { contender, address, usage } = running
  const expectsRejection = workload.usesWrongKey ?? false
  await checkSample(running, workload, operations)
  const before = await usage()
  const load = await generateLoad({
    address,
    requests: operations.map(contender.requestFor),
    key: keyFor(workload),
    expectsRejection,
    seconds,
  })
  const after = await usage()
  await checkSample(running, workload, operations)
  if (load.wrong > 0 || load.failed > 0) {
    throw new Error(
      `${contender.name}, ${workload.name}: ${load.wrong} wrong responses, ${load.failed} failed requests`,
    )
  }
  return {
    requestsPerSecond: load.requestCount / load.seconds,
    p50Ms: load.p50Ms,
    p99Ms: load.p99Ms,
    cpuMicros: (after.cpuMicros - before.cpuMicros) / load.requestCount,
    databaseCpuMicros: (after.databaseCpuMicros - before.databaseCpuMicros) / load.requestCount,
    memoryMiB: after.rssBytes / 2 ** 20,
  }
}

/** The bare server sends the same body for every operation, so only its status is checked. */
async function checkSample(
  { contender, send }: RunningContender,
  workload: Workload,
  operations: readonly Operation[],
): Promise<void> {
  for (const operation of operations.slice(0, SAMPLE_SIZE)) {
    const response = await send(contender.requestFor(operation), keyFor(workload))
    if (contender !== BARE) checkResponse(operation, workload.usesWrongKey ?? false, response)
    else if (response.status >= 500) throw new Error('the bare server has no response for this method')
  }
}

/** Records one response of the service for each method, for the bare server to send. */
async function recordResponses(
  { contender, send }: RunningContender,
  workload: Workload,
  operations: readonly Operation[],
): Promise<ResponsesByMethod> {
  const responses: Record<string, HttpResponse> = {}
  for (const operation of operations) {
    const request = contender.requestFor(operation)
    if (request.method in responses) continue
    const { headers, ...response } = await send(request, keyFor(workload))
    // Node adds these itself.
    const { date: _date, connection: _connection, 'keep-alive': _keepAlive, ...others } = headers
    responses[request.method] = { ...response, headers: others }
  }
  return responses
}

function keyFor(workload: Workload): string {
  return workload.usesWrongKey ? WRONG_KEY : API_KEY
}

/** Draws the same operations for every contender and in every run. */
function drawOperations(workload: Workload, size: number): Operation[] {
  let seed = 1
  const random = () => {
    seed = (seed * 48_271) % 0x7fffffff
    return seed / 0x7fffffff
  }
  return Array.from({ length: OPERATION_COUNT }, () => workload.draw(size, random))
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.slice(Math.ceil(values.length / 2) - 1, Math.floor(values.length / 2) + 1)
  return middle.reduce((sum, value) => sum + value, 0) / middle.length
}
