// Instances of one service. Like a load balancer, clients use those that are ready.

import type { serve } from '../../test/support/command.ts'
import type { Scope } from '../../test/support/service.ts'
import { waitUntil } from '../../test/support/wait.ts'
import { send } from './writes.ts'

/** How often the readiness of each instance is checked. */
const CHECK_MS = 100

/** The longest that an instance may take to become ready, or not. */
const LIMIT_MS = 20_000

type Start = () => ReturnType<typeof serve>

export type Instance = Awaited<ReturnType<typeof watchInstance>>

/** Starts an instance, and checks its readiness from then on. */
export async function watchInstance(scope: Scope, start: Start) {
  let running = await start()
  let isReady = false
  const timer = setInterval(async () => {
    isReady = (await send(running.address, false, 'GET', '/readyz'))?.status === 200
  }, CHECK_MS)
  scope.after(() => clearInterval(timer))
  return {
    address: () => running.address,
    isReady: () => isReady,
    signal(signal: NodeJS.Signals) {
      running.child.kill(signal)
      return running.ended
    },
    /** Starts the same program again, or another one. */
    async restart(next = start) {
      running = await next()
    },
    becomes: (state: 'ready' | 'not ready') =>
      waitUntil(() => isReady === (state === 'ready'), {
        what: `the instance is ${state}`,
        timeoutMs: LIMIT_MS,
      }),
  }
}

/** Returns a function that returns the address of one ready instance after the other. If none is ready, all are used. */
export function nextReady(instances: readonly Instance[]): () => string {
  let turn = 0
  return () => {
    const ready = instances.filter(({ isReady }) => isReady())
    const candidates = ready.length > 0 ? ready : instances
    return candidates[turn++ % candidates.length]?.address() ?? ''
  }
}
