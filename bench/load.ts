// Load on one address for a while: from wrk where it is installed, else from autocannon.

import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
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
  /** Responses with a status of 400 and above. */
  readonly refused: number
  /** Connections that failed, and answers that never came. */
  readonly broken: number
}

export const GENERATOR = isInstalled('wrk') ? 'wrk' : 'autocannon'

/** The requests are drawn at random from `asks`. */
export async function putLoad(
  address: string,
  asks: readonly Ask[],
  key: string,
  seconds: number,
): Promise<Load> {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-load-'))
  try {
    const run = GENERATOR === 'wrk' ? withWrk : withAutocannon
    return JSON.parse(await run(folder, address, asks, key, seconds))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function withWrk(
  folder: string,
  address: string,
  asks: readonly Ask[],
  key: string,
  seconds: number,
): Promise<string> {
  const script = join(folder, 'load.lua')
  writeFileSync(script, luaScript(asks, key))
  const args = ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '-s', script, address]
  const { stdout } = await promisify(execFile)('wrk', args)
  return stdout.slice(stdout.indexOf('{'))
}

function luaScript(asks: readonly Ask[], key: string): string {
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

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%f,"p50Ms":%f,"p99Ms":%f,"refused":%d,"broken":%d}',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
`
}

async function withAutocannon(
  folder: string,
  address: string,
  asks: readonly Ask[],
  key: string,
  seconds: number,
): Promise<string> {
  const plan = join(folder, 'plan.json')
  writeFileSync(plan, JSON.stringify({ address, asks, key, seconds, connections: CONNECTIONS }))
  const script = fileURLToPath(new URL('autocannon.js', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [script, plan])
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
