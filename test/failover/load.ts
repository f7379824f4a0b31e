// Clients that create and read animals without pause through two instances, and a record of the answers.

import { setTimeout as delay } from 'node:timers/promises'
import type { Animal } from '../../src/animal.ts'
import { INT64_MAX } from '../../src/json.ts'
import type { Request } from '../support/history.ts'
import { startRecorder } from '../support/recorder.ts'

const RETRY_MS = 50

export interface Phase {
  readonly name: string
  acknowledged: number
  readonly statuses: Map<string, number>
  /** The longest time without a 201, in milliseconds. */
  longestGap: number
}

export interface Load {
  readonly phases: readonly Phase[]
  begin(name: string): void
  /** The number of animals that were acknowledged so far. */
  count(): number
  stop(): Promise<void>
  /** Checks all requests so far, and prints the result. Returns whether there is no violation. */
  check(): Promise<boolean>
}

export interface LoadOptions {
  readonly addresses: readonly string[]
  readonly clients: number
  readonly apiKey: string
}

export function startLoad({ addresses, clients, apiKey }: LoadOptions): Load {
  const recorder = startRecorder(apiKey)
  const acknowledged: bigint[] = []
  const phases: Phase[] = []
  let isStopped = false
  let lastAt = performance.now()

  function begin(name: string): void {
    measureGap()
    lastAt = performance.now()
    phases.push({ name, acknowledged: 0, statuses: new Map(), longestGap: 0 })
  }

  function measureGap(): void {
    const phase = phases.at(-1)
    if (phase !== undefined) phase.longestGap = Math.max(phase.longestGap, performance.now() - lastAt)
  }

  async function runClient(number: number): Promise<void> {
    let turn = number

    /** Uses the instances in turn, so that one reads what the other has stored. */
    async function send(request: Request): Promise<Animal | undefined> {
      const { status, animals } = await recorder.send(addresses[turn++ % addresses.length] as string, request)
      const phase = phases.at(-1) as Phase
      phase.statuses.set(status, (phase.statuses.get(status) ?? 0) + 1)
      return animals?.[0]
    }

    /** Repeats a creation with an Idempotency-Key until it gets 201. One without a key may be stored: it is sent once. */
    async function create(name: string, idempotencyKey: string | undefined): Promise<Animal | undefined> {
      const sent = { name, categoryId: INT64_MAX - BigInt(acknowledged.length) }
      while (!isStopped) {
        const animal = await send({ kind: 'create', sent, idempotencyKey })
        if (animal !== undefined) return animal
        await delay(RETRY_MS)
        if (idempotencyKey === undefined) return undefined
      }
      return undefined
    }

    for (let count = 0; !isStopped; count++) {
      const name = `${number}-${count}`
      const key = count % 3 === 0 ? undefined : name
      const animal = await create(name, key)
      if (animal === undefined) continue
      acknowledged.push(animal.id)
      ;(phases.at(-1) as Phase).acknowledged++
      measureGap()
      lastAt = performance.now()
      const { id, ...sent } = animal
      const random = acknowledged[Math.floor(Math.random() * acknowledged.length)] as bigint
      const next: readonly Request[] = [
        { kind: 'fetch', id },
        { kind: 'list', limit: 20, before: INT64_MAX },
        { kind: 'list', limit: 100, after: random },
        key === undefined ? { kind: 'list', limit: 20 } : { kind: 'create', sent, idempotencyKey: key },
      ]
      await send(next[count % next.length] as Request)
    }
  }

  begin('start')
  const running = Array.from({ length: clients }, (_, number) => runClient(number))
  return {
    phases,
    begin,
    count: () => acknowledged.length,
    async stop() {
      isStopped = true
      await Promise.all(running)
      measureGap()
    },
    check: () => recorder.check(addresses[0] as string),
  }
}
