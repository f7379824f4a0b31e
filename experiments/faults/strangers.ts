// Strangers that pipeline requests, and clients that never read their responses.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { memoryOf } from '../../test/support/processes.ts'
import { API_KEY, client } from '../../test/support/service.ts'
import { waitUntil } from '../../test/support/wait.ts'
import type { Figure, Options } from './figure.ts'
import { inScope, isAnswered, startProgram, startService } from './processes.ts'

/** How long the memory is watched after the last request. */
const WATCH_MS = 3_000

/** What the process may need: the requests in flight (`SERVER_LIMITS` in src/http/server/server.ts), 2,000 connections, and garbage. */
const MAX_GROWTH_MIB = 160

export async function strangers({ quick }: Options): Promise<Figure[]> {
  return [...(await pipelines()), await slowReaders(quick ? 500 : 2_000)]
}

function pipelines(): Promise<Figure[]> {
  return inScope(async scope => {
    const { address, metricsAddress, pid } = await startService(scope)
    const before = memoryOf(pid)
    const connections = 1_000
    const stranger = startProgram(scope, 'stranger.ts', address, connections, '/docs', 'pipelines')
    await once(stranger.stdout, 'data')
    const start = performance.now()
    let most = before
    let slowestMs = 0
    while (performance.now() - start < WATCH_MS) {
      const asked = performance.now()
      await waitUntil(() => isAnswered(metricsAddress), { what: '/livez is answered', timeoutMs: 60_000 })
      slowestMs = Math.max(slowestMs, performance.now() - asked)
      most = Math.max(most, memoryOf(pid))
      await delay(20)
    }
    const promise = `${connections} connections of a stranger pipeline 64 KiB of requests at once`
    return [
      {
        promise: `${promise}: memory is bounded`,
        measured: `from ${Math.round(before)} to ${Math.round(most)} MiB`,
        holds: most - before <= MAX_GROWTH_MIB,
      },
      {
        promise: `${promise}: /livez is answered on the metrics listener within 5 s`,
        measured: `at most ${(slowestMs / 1_000).toFixed(1)} s`,
        holds: slowestMs <= 5_000,
        isSpeed: true,
      },
    ]
  })
}

function slowReaders(connections: number): Promise<Figure> {
  return inScope(async scope => {
    const { address, pid } = await startService(scope)
    const path = '/v1/pets?limit=100'
    const bytes = await fillPage(address, path)
    const before = memoryOf(pid)
    const stranger = startProgram(scope, 'stranger.ts', address, connections, path, 'never-reads', API_KEY)
    let isOpening = true
    once(stranger.stdout, 'data').then(() => {
      isOpening = false
    })
    let most = before
    for (let waited = 0; isOpening || waited < WATCH_MS; waited += isOpening ? 0 : 50) {
      await delay(50)
      most = Math.max(most, memoryOf(pid))
    }
    await waitUntil(() => isAnswered(address), { what: '/livez is answered again', timeoutMs: 60_000 })
    return {
      promise: `${connections} clients request eight pages of ${Math.round(bytes / 1_000)} KB and never read them: memory is bounded`,
      measured: `from ${Math.round(before)} to ${Math.round(most)} MiB`,
      holds: most - before <= MAX_GROWTH_MIB,
    }
  })
}

/** Creates the animals of the largest possible page, and returns its size. JSON takes six bytes for a control character. */
async function fillPage(address: string, path: string): Promise<number> {
  const { send, close } = client(address)
  const body = JSON.stringify({ name: '\u0001'.repeat(1_000), categoryId: 1 })
  const headers = { 'content-type': 'application/json' }
  const create = () => send('POST', '/v1/pets', { headers, body })
  for (const { status, text } of await Promise.all(Array.from({ length: 100 }, create)))
    assert.equal(status, 201, text)
  const { text } = await send('GET', path)
  close()
  return text.length
}
