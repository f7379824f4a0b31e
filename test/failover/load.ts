// Clients that create animals without pause through two instances, and a record of the responses.

import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

const RETRY_MS = 50
const ANSWER_TIMEOUT_MS = 10_000

export interface Phase {
  readonly name: string
  acknowledged: number
  readonly statuses: Map<string, number>
  /** The longest time without a 201, in milliseconds. */
  longestGap: number
}

export interface Load {
  /** The id of each animal that was answered with 201, by its name. */
  readonly acknowledged: ReadonlyMap<string, string>
  readonly phases: readonly Phase[]
  begin(name: string): void
  /** The number of 201 so far. */
  count(): number
  stop(): Promise<void>
}

export interface LoadOptions {
  readonly ports: readonly number[]
  readonly clients: number
  readonly apiKey: string
}

export function startLoad({ ports, clients, apiKey }: LoadOptions): Load {
  const acknowledged = new Map<string, string>()
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

  function record(status: string): void {
    const phase = phases.at(-1) as Phase
    phase.statuses.set(status, (phase.statuses.get(status) ?? 0) + 1)
    if (status !== '201') return
    phase.acknowledged++
    measureGap()
    lastAt = performance.now()
  }

  /** Repeats each creation with the same Idempotency-Key until it gets 201, and uses the instances in turn. */
  async function runClient(number: number): Promise<void> {
    const agents = ports.map(() => new Agent({ keepAlive: true, maxSockets: 1 }))
    let turn = number
    for (let count = 0; !isStopped; count++) {
      const name = `${number}-${count}`
      for (let isDone = false; !isDone && !isStopped; turn++) {
        const index = turn % ports.length
        const reply = await create(ports[index] as number, agents[index] as Agent, apiKey, name)
        record(reply.status)
        isDone = reply.status === '201'
        if (isDone) acknowledged.set(name, reply.id)
        else await delay(RETRY_MS)
      }
    }
    for (const agent of agents) agent.destroy()
  }

  begin('start')
  const running = Array.from({ length: clients }, (_, number) => runClient(number))
  return {
    acknowledged,
    phases,
    begin,
    count: () => acknowledged.size,
    async stop() {
      isStopped = true
      await Promise.all(running)
      measureGap()
    },
  }
}

/** Sends one creation. Resolves with the status, or with the reason why there was no response. */
function create(
  port: number,
  agent: Agent,
  apiKey: string,
  name: string,
): Promise<{ status: string; id: string }> {
  return new Promise(resolve => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        agent,
        method: 'POST',
        path: '/v1/pets',
        timeout: ANSWER_TIMEOUT_MS,
        headers: {
          authorization: `Bearer ${apiKey}`,
          'content-type': 'application/json',
          'idempotency-key': name,
        },
      },
      incoming => {
        let text = ''
        incoming.setEncoding('utf8')
        incoming.on('data', part => {
          text += part
        })
        incoming.on('error', ({ name: reason }) => resolve({ status: reason, id: '' }))
        incoming.on('end', () =>
          resolve({ status: String(incoming.statusCode), id: /"id":(\d+)/.exec(text)?.[1] ?? '' }),
        )
      },
    )
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer')))
    outgoing.on('error', error =>
      resolve({ status: (error as NodeJS.ErrnoException).code ?? error.message, id: '' }),
    )
    outgoing.end(JSON.stringify({ name, categoryId: 1 }))
  })
}
