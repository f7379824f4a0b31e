// Bodies and media types that were made to cost CPU time: each is answered like any other, and costs no more than a multiple of
// a plain pass over the same text in the same run. A limit in milliseconds would fail on a busy machine.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { parseAnimalJson, parseNewAnimal } from '../src/animal-json.ts'
import { hasMediaType, JSON_BODY, parseBody } from '../src/http/server/body.ts'
import { MAX_BODY_BYTES } from '../src/http/server/protocol-errors.ts'
import { shared, startTestService } from './support/service.ts'

/** Far above what any of them takes, and far below what quadratic time would take. */
const MAX_RATIO = 200

/** The fastest of so many runs is one that nothing interrupted, on a busy machine too. */
const RUNS = 10

const ANIMAL = '"name":"Bella","categoryId":7.0}'

/** A body of almost 64 KiB: the start, the unit as often as it fits, and the end with the members of an animal. */
function filled(start: string, unit: string | ((index: number) => string), end: string): Buffer {
  const parts = [start]
  let length = start.length + end.length
  for (let index = 0; ; index++) {
    const next = typeof unit === 'string' ? unit : unit(index)
    length += next.length
    if (length > MAX_BODY_BYTES) return Buffer.from(parts.join('') + end)
    parts.push(next)
  }
}

const inArray = (unit: string | ((index: number) => string)) => filled('{"x":[', unit, `0],${ANIMAL}`)
const inObject = (unit: string | ((index: number) => string)) => filled('{', unit, ANIMAL)
const nested = (open: string, close: string, depth: number) =>
  Buffer.from(`{"x":${open.repeat(depth)}1.5${close.repeat(depth)},${ANIMAL}`)

/** What each body is, its bytes, and the status of the response. */
const COSTLY_BODIES: readonly (readonly [string, Buffer, number])[] = [
  ['arrays of one fraction', inArray('[1.5],'), 201],
  ['objects with different members', inArray(index => `{"a${index.toString(36)}":{}},`), 201],
  ['objects of many shapes', inArray(index => `{"${'abcdefgh'[index % 8]}":1,"${index % 97}":1},`), 201],
  ['empty strings', inArray('"",'), 201],
  ['nested arrays', nested('[', ']', 32_700), 201],
  ['nested arrays that are not closed', Buffer.from(`{"x":${'['.repeat(65_000)}`), 400],
  ['nested objects', nested('{"":', '}', 13_000), 201],
  ['different members', inObject(index => `"${index.toString(36)}a":1,`), 201],
  ['members without a name', inObject('"":0,'), 201],
  ['one member, repeated with an escape', inObject('"categor\\u0079Id":1,'), 201],
  ['members named almost like categoryId, with an escape', inObject('"categor\\u0079Ie":1,'), 201],
  ['members with short names in escapes', inObject('"\\/\\/\\/":0,'), 201],
  ['an escaped string', filled('{"x":"', '\\"', `",${ANIMAL}`), 201],
  ['numbers that are hard to round', inArray(`9007199254740993${'0'.repeat(700)}1,`), 201],
  ['an integer of 65,000 digits', Buffer.from(`{"name":"Bella","categoryId":${'9'.repeat(65_000)}}`), 400],
  ['a fraction of 65,000 zeros', Buffer.from(`{"name":"Bella","categoryId":7.${'0'.repeat(65_000)}}`), 201],
  ['a name that is an array of arrays', filled('{"name":[', '[1.5],', '0],"categoryId":7}'), 400],
  ['an error at the end', inArray('[1.5],').subarray(0, -1), 400],
]

/** Parameters that fill the `Content-Type` of a request when they are repeated. */
const COSTLY_PARAMETERS = [';a=b', ';a="b"', ';a="\\"', ';', ';charset', ';"', ';a="\\";a="']

function mediaTypeOf(parameter: string): string {
  return `application/json${parameter.repeat(15_000 / parameter.length)}`
}

function elapsedMs(work: () => void): number {
  const start = performance.now()
  work()
  return performance.now() - start
}

function parse(body: Buffer): void {
  try {
    parseNewAnimal(parseBody(body, parseAnimalJson))
  } catch {
    // Rejecting it must not take longer either.
  }
}

function parsePlainly(body: Buffer): void {
  try {
    JSON.parse(body.toString())
  } catch {
    // Malformed.
  }
}

const service = shared(startTestService)

function assertCheap(t: TestContext, work: () => void, plainPass: () => void): void {
  let fastestMs = Number.POSITIVE_INFINITY
  let plainMs = Number.POSITIVE_INFINITY
  for (let run = 0; run < RUNS; run++) {
    fastestMs = Math.min(fastestMs, elapsedMs(work))
    plainMs = Math.min(plainMs, elapsedMs(plainPass))
  }
  const ratio = fastestMs / plainMs
  t.diagnostic(`${fastestMs.toFixed(3)} ms, ${ratio.toFixed(1)} times a plain pass`)
  // Code is several times slower while its coverage is measured.
  if (!process.env.NODE_V8_COVERAGE) assert.ok(ratio <= MAX_RATIO, `${ratio} times a plain pass`)
}

suite('a costly body', () => {
  for (const [what, body, status] of COSTLY_BODIES) {
    test(`costs a small multiple of JSON.parse and is answered with ${status}: ${what}`, async t => {
      assert.ok(body.length > 60_000 && body.length <= MAX_BODY_BYTES)
      assertCheap(
        t,
        () => parse(body),
        () => parsePlainly(body),
      )
      const headers = { 'content-type': 'application/json' }
      assert.equal((await service().send('POST', '/v1/pets', { headers, body })).status, status)
    })
  }
})

suite('a costly media type', () => {
  const animal = { name: 'Bella', categoryId: 7 }

  for (const parameter of COSTLY_PARAMETERS) {
    const type = mediaTypeOf(parameter)
    test(`costs a small multiple of reading each character: ${parameter} repeated`, t => {
      assertCheap(
        t,
        () => hasMediaType(type, JSON_BODY.mediaTypes),
        () => [...type],
      )
    })
  }

  test('is answered like any other', async () => {
    const type = mediaTypeOf(';a=b')
    assert.equal((await service().create(animal, { 'content-type': type })).status, 201)
    const latin1 = `${type};charset=latin1`
    assert.equal((await service().create(animal, { 'content-type': latin1 })).status, 415)
  })
})
