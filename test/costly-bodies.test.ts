// Bodies and media types that were made to cost CPU time: none takes much, and each is answered like any other.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { MAX_BODY_BYTES } from '../src/http/server/limits.ts'
import { COSTLY_BODIES, COSTLY_PARAMETERS, mediaTypeOf, type Taken } from './support/costly-bodies.ts'
import { shared, startTestService } from './support/service.ts'

const MAX_CPU_MS = 15

const service = shared(startTestService)
let taken: Taken

before(() => {
  const program = fileURLToPath(new URL('support/costly-bodies.ts', import.meta.url))
  // In its own process, because code is several times slower while its coverage is measured.
  const env = { ...process.env, NODE_V8_COVERAGE: '' }
  taken = JSON.parse(execFileSync(process.execPath, [program], { env, encoding: 'utf8' }))
})

suite('a costly body', () => {
  for (const [index, [what, body, status]] of COSTLY_BODIES.entries()) {
    test(`takes at most ${MAX_CPU_MS} ms of CPU and is answered with ${status}: ${what}`, async t => {
      assert.ok(body.length > 60_000 && body.length <= MAX_BODY_BYTES)
      const ms = taken.bodies[index] ?? Number.POSITIVE_INFINITY
      t.diagnostic(`${ms.toFixed(2)} ms`)
      assert.ok(ms <= MAX_CPU_MS, `${ms} ms`)
      const headers = { 'content-type': 'application/json' }
      assert.equal((await service().send('POST', '/v1/pets', { headers, body })).status, status)
    })
  }
})

suite('a costly media type', () => {
  const animal = { name: 'Bella', categoryId: 7 }

  for (const [index, parameter] of COSTLY_PARAMETERS.entries()) {
    test(`takes at most ${MAX_CPU_MS} ms of CPU: ${parameter} repeated`, t => {
      const ms = taken.mediaTypes[index] ?? Number.POSITIVE_INFINITY
      t.diagnostic(`${ms.toFixed(2)} ms`)
      assert.ok(ms <= MAX_CPU_MS, `${ms} ms`)
    })
  }

  test('is answered like any other', async () => {
    const type = mediaTypeOf(';a=b')
    assert.equal((await service().create(animal, { 'content-type': type })).status, 201)
    const latin1 = `${type};charset=latin1`
    assert.equal((await service().create(animal, { 'content-type': latin1 })).status, 415)
  })
})
