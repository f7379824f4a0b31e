// Measures one workload on several contenders in turns: the cost of a request, and its ratio to that of this service.

import { ANIMAL_STORE, BARE, type Contender } from './contenders.ts'
import { CONNECTIONS, generateLoad } from './load.ts'
import type { RunningContender } from './processes.ts'
import {
  API_KEY,
  checkResponse,
  type HttpResponse,
  type Operation,
  requestFor,
  turnsOf,
  type Workload,
  WRONG_KEY,
} from './workloads.ts'

/** How many different operations a workload has. */
const OPERATION_COUNT = 1_000
/** For how many operations the responses are checked in full after each round. */
const SAMPLE_SIZE = 20
export const ROUND_SECONDS = 1

export interface Rounds {
  /** Rounds that do not count: V8 compiles hot code first. */
  readonly warmUp: number
  readonly count: number
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
  /** CPU per request of this contender and its database divided by that of this service: the median over the rounds. */
  readonly timesOurs: number
}

/** All contenders on one database and one size of catalogue, with or without the request log. */
export interface Comparison {
  readonly database: 'SQLite' | 'PostgreSQL'
  readonly size: number
  readonly log: boolean
  readonly measurements: readonly Measurement[]
}

/** The bare server sends what this service answers. Throws if any response is wrong: the run does not count then. */
export async function measure(
  workload: Workload,
  size: number,
  contenders: readonly RunningContender[],
  rounds: Rounds,
): Promise<Measurement[]> {
  const operations = drawOperations(workload, size)
  const find = (wanted: Contender) => contenders.findIndex(({ contender }) => contender === wanted)
  const bare = contenders[find(BARE)] as RunningContender
  const ours = contenders[find(ANIMAL_STORE)] as RunningContender
  const responses = await recordResponses(ours, workload, operations)
  await bare.send({ method: 'PUT', path: '/', body: JSON.stringify(responses) })
  const results = await runRounds({ workload, size, operations }, contenders, rounds)
  return results.map((own, index) => ({
    workload: workload.name,
    contender: (contenders[index] as RunningContender).contender.name,
    requestsPerSecond: median(own.map(result => result.requestsPerSecond)),
    p50Ms: median(own.map(result => result.p50Ms)),
    p99Ms: median(own.map(result => result.p99Ms)),
    cpuMicros: bestRound(own).cpuMicros,
    databaseCpuMicros: bestRound(own).databaseCpuMicros,
    memoryMiB: Math.max(...own.map(result => result.memoryMiB)),
    timesOurs: cpuRatio(own, results[find(ANIMAL_STORE)] ?? []),
  }))
}

/** A workload on catalogues of one size. */
interface Task {
  readonly workload: Workload
  readonly size: number
  readonly operations: readonly Operation[]
}

/** Returns the results of each contender. The order is reversed in every other round, so that none is always first. */
async function runRounds(
  task: Task,
  contenders: readonly RunningContender[],
  { warmUp, count }: Rounds,
): Promise<RoundResult[][]> {
  const results: RoundResult[][] = contenders.map(() => [])
  for (let round = 1 - warmUp; round <= count; round++) {
    const order = [...contenders.entries()]
    for (const [index, running] of round % 2 === 0 ? order : order.toReversed()) {
      const result = await runRound(running, task)
      if (round > 0) results[index]?.push(result)
    }
  }
  return results
}

/** Other work on the machine can only add to the cost of a request, so the best round is the most accurate. */
function bestRound(rounds: readonly RoundResult[]): RoundResult {
  return rounds.reduce((best, round) => (totalCpu(round) < totalCpu(best) ? round : best))
}

function totalCpu({ cpuMicros, databaseCpuMicros }: RoundResult): number {
  return cpuMicros + databaseCpuMicros
}

/** Compares within each round: a machine that is slow for a while is slow for every contender of that round. */
function cpuRatio(rounds: readonly RoundResult[], others: readonly RoundResult[]): number {
  return median(
    rounds.map((round, index) => {
      const other = others[index]
      return other === undefined ? Number.NaN : totalCpu(round) / totalCpu(other)
    }),
  )
}

async function runRound(running: RunningContender, task: Task): Promise<RoundResult> {
  const { contender, address, usage } = running
  const { workload, operations } = task
  const before = usage()
  const load = await generateLoad({
    address,
    requests: operations.map(operation => turnsOf(operation).map(requestFor)),
    key: keyFor(workload),
    connections: workload.connections ?? CONNECTIONS,
    expectsRejection: workload.usesWrongKey ?? false,
    seconds: ROUND_SECONDS,
  })
  const after = usage()
  await checkSample(running, task)
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
    memoryMiB: after.memoryMiB,
  }
}

/** The bare server sends the same body for every operation, so only its status is checked. */
async function checkSample(
  { contender, send }: RunningContender,
  { workload, size, operations }: Task,
): Promise<void> {
  for (const operation of operations.slice(0, SAMPLE_SIZE).flatMap(turnsOf)) {
    const response = await send(requestFor(operation), keyFor(workload))
    if (contender !== BARE) checkResponse(operation, size, workload.usesWrongKey ?? false, response)
    else if (response.status >= 500) throw new Error('the bare server has no response for this method')
  }
}

/** Records one response of the service for each method, for the bare server to send. */
async function recordResponses(
  { send }: RunningContender,
  workload: Workload,
  operations: readonly Operation[],
): Promise<Record<string, HttpResponse>> {
  const responses: Record<string, HttpResponse> = {}
  for (const operation of operations) {
    const request = requestFor(operation)
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
