// Load from wrk on one address, for a number of seconds.

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isInstalled } from '../test/support/programs.ts'
import type { HttpRequest } from './workloads.ts'

export const CONNECTIONS = 64

/** How much longer than planned the generator may run. */
const OVERTIME_SECONDS = 30

interface LoadResult {
  readonly requestCount: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Responses without a body or with an unexpected status. */
  readonly wrong: number
  /** Failed connections and missing responses. */
  readonly failed: number
}

/**
 * If the system can pin processes, the generator gets the last core and the contenders get the others. Otherwise the
 * cost of a request depends on where the scheduler moves them.
 */
const LAST_CORE = availableParallelism() - 1
export const CAN_PIN = LAST_CORE > 0 && isInstalled('taskset')
const ON_LAST_CORE = CAN_PIN ? ['taskset', '--cpu-list', String(LAST_CORE)] : []
export const ON_OTHER_CORES = CAN_PIN ? ['taskset', '--cpu-list', `0-${LAST_CORE - 1}`] : []

interface LoadPlan {
  readonly address: string
  /** Sent in random order. Of requests that belong together, the next one is sent each time, beginning with any. */
  readonly requests: readonly (readonly HttpRequest[])[]
  readonly key: string
  readonly connections: number
  readonly expectsRejection: boolean
  readonly seconds: number
}

/**
 * The generator checks every response. That also keeps it busy: a generator that sleeps has to be woken for each
 * response, which costs the server up to half the CPU time of a request, and costs a slow server more than a fast one.
 */
export async function generateLoad(plan: LoadPlan): Promise<LoadResult> {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-load-'))
  try {
    const script = join(folder, 'load.lua')
    writeFileSync(script, luaScript(plan))
    // A virtual machine may stall for seconds. Without its own time-out, wrk would count that as failed requests.
    const options = ['-t1', `-c${plan.connections}`, `-d${plan.seconds}s`, `--timeout=${OVERTIME_SECONDS}s`]
    const wrk = ['wrk', ...options, '-s', script, plan.address]
    const [program = '', ...args] = [...ON_LAST_CORE, ...wrk]
    const timeout = (plan.seconds + OVERTIME_SECONDS) * 1_000
    const { stdout } = await promisify(execFile)(program, args, { timeout })
    return JSON.parse(stdout.slice(stdout.indexOf('{')))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function luaScript({ requests, key, expectsRejection }: LoadPlan): string {
  const rows = requests.map(turns => `{${turns.map(luaRequest).join(', ')}}`)
  return `
local readHeaders = { ["Authorization"] = "Bearer ${key}" }
local writeHeaders = { ["Authorization"] = "Bearer ${key}", ["Content-Type"] = "application/json" }
local planned = {
  ${rows.join(',\n  ')}
}
local requests = {}

function init()
  math.randomseed(os.time())
  for index, turns in ipairs(planned) do
    local formatted = { next = math.random(#turns) }
    for turn, each in ipairs(turns) do formatted[turn] = wrk.format(each[1], each[2], each[3], each[4]) end
    requests[index] = formatted
  end
end

function request()
  local turns = requests[math.random(#requests)]
  local turn = turns.next
  turns.next = turn % #turns + 1
  return turns[turn]
end

local threads = {}
wrong = 0

function setup(thread)
  table.insert(threads, thread)
end

function response(status, headers, body)
  local isExpected = ${expectsRejection ? 'status == 401' : 'status == 200 or status == 201'}
  if not isExpected or #body == 0 then wrong = wrong + 1 end
end

function done(summary, latency)
  local errors = summary.errors
  local sum = 0
  for _, thread in ipairs(threads) do sum = sum + thread:get("wrong") end
  io.write(string.format(
    '{"requestCount":%d,"seconds":%f,"p50Ms":%f,"p99Ms":%f,"wrong":%d,"failed":%d}',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    sum, errors.connect + errors.read + errors.write + errors.timeout))
end
`
}

function luaRequest({ method, path, body }: HttpRequest): string {
  return body === undefined
    ? `{"${method}", "${path}", readHeaders}`
    : `{"${method}", "${path}", writeHeaders, ${JSON.stringify(body)}}`
}
