// Overload: thousands of connections that all retry at once, half of them creating, half of them listing.

import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Scope } from '../../test/support/service.ts'
import { waitUntil } from '../../test/support/wait.ts'
import type { Figure, Options } from './figure.ts'
import { generateLoad, inScope, isAnswered, startService } from './processes.ts'

/** How often health checks are sent, as by a load balancer. */
const CHECK_INTERVAL_MS = 200

const USUAL_CONNECTIONS = 64

/** The smallest share of the usual creations per second under overload. */
const MIN_GOODPUT = 0.5
const MAX_NEW_CONNECTION_MS = 5_000
const MAX_OPEN_CONNECTION_MS = 2_000

interface Load {
  readonly creationsPerSecond: number
  readonly counts: Record<string, number>
  readonly newConnectionMs: number
  readonly openConnectionMs: number
}

export function overload({ quick }: Options): Promise<Figure[]> {
  return inScope(async scope => {
    const service = await startService(scope)
    // Warms up: the first seconds would measure the compiler.
    await putUnderLoad(scope, service, USUAL_CONNECTIONS, 2)
    const usualSeconds = quick ? 2 : 4
    const before = await putUnderLoad(scope, service, USUAL_CONNECTIONS, usualSeconds)
    const loads = new Map<number, Load>()
    for (const connections of quick ? [2_000] : [2_000, 4_000, 8_000])
      loads.set(connections, await putUnderLoad(scope, service, connections, quick ? 3 : 10))
    // Other programs take more or less CPU from minute to minute, so the usual rate is measured before and after.
    const after = await putUnderLoad(scope, service, USUAL_CONNECTIONS, usualSeconds)
    const usual = (before.creationsPerSecond + after.creationsPerSecond) / 2
    return [...loads].flatMap(([connections, load]) => compare(connections, load, usual))
  })
}

function compare(connections: number, load: Load, usual: number): Figure[] {
  const share = load.creationsPerSecond / usual
  const rates = [load.creationsPerSecond, usual].map(Math.round)
  const answers = Object.entries(load.counts).map(([what, count]) => `${what}: ${count}`)
  const who = `${connections} connections that retry at once`
  return [
    {
      promise: `${who}: at least half as many creations per second as with ${USUAL_CONNECTIONS} connections`,
      measured: `${Math.round(share * 100)} % (${rates.join(' instead of ')} per second; ${answers.join(', ')})`,
      holds: share >= MIN_GOODPUT,
      isSpeed: true,
    },
    {
      promise: `${who}: /livez on a new connection to the metrics listener within 5 s`,
      measured: inSeconds(load.newConnectionMs),
      holds: load.newConnectionMs <= MAX_NEW_CONNECTION_MS,
      isSpeed: true,
    },
    {
      promise: `${who}: /livez on an open connection within 2 s`,
      measured: inSeconds(load.openConnectionMs),
      holds: load.openConnectionMs <= MAX_OPEN_CONNECTION_MS,
      isSpeed: true,
    },
  ]
}

function inSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`
}

async function putUnderLoad(
  scope: Scope,
  { address, metricsAddress }: Awaited<ReturnType<typeof startService>>,
  connections: number,
  seconds: number,
): Promise<Load> {
  const open = new Agent({ keepAlive: true, maxSockets: 1 })
  await livez(address, open)
  // One process opens all connections, those that create and those that list in turns: Node.js accepts one per event-loop turn, so of two
  // processes the first one would have them all for a while.
  const generator = generateLoad(scope, address, connections, seconds, 'mixed')
  let isRunning = true
  async function slowest(origin: string, agent: Agent | false): Promise<number> {
    let longest = 0
    while (isRunning) {
      const start = performance.now()
      await livez(origin, agent)
      longest = Math.max(longest, performance.now() - start)
      await delay(CHECK_INTERVAL_MS)
    }
    return longest
  }
  const slowestOnNew = slowest(metricsAddress, false)
  const slowestOnOpen = slowest(address, open)
  const counts = await generator
  isRunning = false
  const load = {
    creationsPerSecond: (counts['201'] ?? 0) / seconds,
    counts,
    newConnectionMs: await slowestOnNew,
    openConnectionMs: await slowestOnOpen,
  }
  open.destroy()
  return load
}

/** The request is sent again if the connection is reset. */
function livez(address: string, agent: Agent | false): Promise<void> {
  return waitUntil(() => isAnswered(address, agent), { what: '/livez is answered', timeoutMs: 60_000 })
}
