// Bodies that were made to cost CPU time: none takes more than 3 ms, and each is answered like any other body.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { MAX_BODY_BYTES } from '../src/http/server/limits.ts'
import { COSTLY_BODIES } from './support/costly-bodies.ts'
import { shared, startTestService } from './support/service.ts'

const MAX_CPU_MS = 3

suite('a costly body', () => {
  const service = shared(startTestService)
  let taken: number[]

  before(() => {
    const program = fileURLToPath(new URL('support/costly-bodies.ts', import.meta.url))
    // In its own process, because code is several times slower while its coverage is measured.
    const env = { ...process.env, NODE_V8_COVERAGE: '' }
    taken = JSON.parse(execFileSync(process.execPath, [program], { env, encoding: 'utf8' }))
  })

  for (const [index, [what, body, status]] of COSTLY_BODIES.entries()) {
    test(`takes at most ${MAX_CPU_MS} ms of CPU and is answered with ${status}: ${what}`, async t => {
      assert.ok(body.length > 60_000 && body.length <= MAX_BODY_BYTES)
      const ms = taken[index] ?? Number.POSITIVE_INFINITY
      t.diagnostic(`${ms.toFixed(2)} ms`)
      assert.ok(ms <= MAX_CPU_MS, `${ms} ms`)
      const headers = { 'content-type': 'application/json' }
      assert.equal((await service().send('POST', '/v1/pets', { headers, body })).status, status)
    })
  }
})

suite('a media type', () => {
  const service = shared(startTestService)

  test('with thousands of parameters is rejected with 415, and one of 256 characters is accepted', async () => {
    const parameters = (length: number) => `application/json${';a=b'.repeat(5_000)}`.slice(0, length)
    const animal = { name: 'Bella', categoryId: 7 }
    for (const [length, status] of [
      [256, 201],
      [257, 415],
      [15_000, 415],
    ] as const) {
      const reply = await service().create(animal, { 'content-type': parameters(length) })
      assert.equal(reply.status, status, `${length} characters`)
    }
  })
})
