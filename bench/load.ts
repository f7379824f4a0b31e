// Load on one address for a while: from wrk where it is installed, else from autocannon.

import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Ask } from './contenders.ts'

export const CONNECTIONS = 64

export interface Load {
  readonly requests: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Responses with another status than the expected one, or without a body. */
  readonly wrong: number
  /** Connections that failed, and answers that never came. */
  readonly broken: number
}

export const GENERATOR = isInstalled('wrk') ? 'wrk' : 'autocannon'

/**
 * Where the system can, the generator has the last core and the contenders have the others. Else what a request costs
 * depends on who happens to be moved where.
 */
const LAST_CORE = availableParallelism() - 1
const CAN_PIN = LAST_CORE > 0 && isInstalled('taskset')
export const ON_LAST_CORE = CAN_PIN ? ['taskset', '--cpu-list', String(LAST_CORE)] : []
export const ON_OTHER_CORES = CAN_PIN ? ['taskset', '--cpu-list', `0-${LAST_CORE - 1}`] : []

export interface Plan {
  readonly address: string
  /** The requests are drawn at random from these. */
  readonly asks: readonly Ask[]
  readonly key: string
  readonly isRejected: boolean
  readonly seconds: number
  readonly connections?: number
}

/**
 * Every response is looked at. That also keeps the generator busy: one that sleeps while it waits has to be woken for
 * each response, which costs the server as much as half a request, and the faster one less than the slower.
 */
export async function putLoad(plan: Plan): Promise<Load> {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-load-'))
  try {
    return JSON.parse(await (GENERATOR === 'wrk' ? withWrk : withAutocannon)(folder, plan))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function withWrk(folder: string, plan: Plan): Promise<string> {
  const script = join(folder, 'load.lua')
  writeFileSync(script, luaScript(plan))
  const args = [
    '-t1',
    `-c${plan.connections ?? CONNECTIONS}`,
    `-d${plan.seconds}s`,
    '-s',
    script,
    plan.address,
  ]
  const stdout = await run('wrk', ...args)
  return stdout.slice(stdout.indexOf('{'))
}

function luaScript({ asks, key, isRejected }: Plan): string {
  const rows = asks.map(({ method, path, body }) =>
    body === undefined
      ? `{"${method}", "${path}", reading}`
      : `{"${method}", "${path}", writing, ${JSON.stringify(body)}}`,
  )
  return `
local reading = { ["Authorization"] = "Bearer ${key}" }
local writing = { ["Authorization"] = "Bearer ${key}", ["Content-Type"] = "application/json" }
local asks = {
  ${rows.join(',\n  ')}
}
local requests = {}

function init()
  math.randomseed(os.time())
  for index, ask in ipairs(asks) do requests[index] = wrk.format(ask[1], ask[2], ask[3], ask[4]) end
end

function request()
  return requests[math.random(#requests)]
end

local threads = {}
wrong = 0

function setup(thread)
  table.insert(threads, thread)
end

function response(status, headers, body)
  local isExpected = ${isRejected ? 'status == 401' : 'status == 200 or status == 201'}
  if not isExpected or #body == 0 then wrong = wrong + 1 end
end

function done(summary, latency)
  local errors = summary.errors
  local sum = 0
  for _, thread in ipairs(threads) do sum = sum + thread:get("wrong") end
  io.write(string.format(
    '{"requests":%d,"seconds":%f,"p50Ms":%f,"p99Ms":%f,"wrong":%d,"broken":%d}',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    sum, errors.connect + errors.read + errors.write + errors.timeout))
end
`
}

async function withAutocannon(folder: string, plan: Plan): Promise<string> {
  const file = join(folder, 'plan.json')
  writeFileSync(file, JSON.stringify({ connections: CONNECTIONS, ...plan }))
  const script = fileURLToPath(new URL('autocannon.js', import.meta.url))
  return run(process.execPath, script, file)
}

async function run(...command: readonly string[]): Promise<string> {
  const [program = '', ...args] = [...ON_LAST_CORE, ...command]
  const { stdout } = await promisify(execFile)(program, args)
  return stdout
}

function isInstalled(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}
