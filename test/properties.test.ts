// Properties that hold for all inputs, tried with many random ones through real HTTP.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { STATUSES } from '../src/animal.ts'
import { INT64_MAX, INT64_MIN } from '../src/int64.ts'
import { renderJson } from '../src/json.ts'
import { anyCharacter } from './support/characters.ts'
import { onEveryDatabase } from './support/databases.ts'
import { schemaAt } from './support/openapi.ts'
import { type Sent, shared, startTestService } from './support/service.ts'

const BATCH = 10

const WHITE_SPACE = /^[\p{White_Space}\u{feff}]*$/u

const name = fc
  .string({ unit: anyCharacter, minLength: 1, maxLength: 1000 })
  .filter(text => text.isWellFormed() && !text.includes('\0') && !WHITE_SPACE.test(text))
const int64 = fc.oneof(
  fc.bigInt(INT64_MIN, INT64_MAX),
  fc.constantFrom(INT64_MIN, INT64_MAX, 0n, 2n ** 53n + 1n),
)
const status = fc.constantFrom(...STATUSES)

/** Random inputs are sent in concurrent batches, because the database then commits once per batch. */
function batchOf<Input>(inputs: fc.Arbitrary<Input>): fc.Arbitrary<Input[]> {
  return fc.array(inputs, { minLength: BATCH, maxLength: BATCH })
}

onEveryDatabase('for all inputs', startTestService => {
  test('create, get and list return an accepted animal unchanged', async t => {
    const service = await startTestService(t)
    let last = 0n
    const animal = fc.record({ name, categoryId: int64, status }, { requiredKeys: ['name', 'categoryId'] })
    await fc.assert(
      fc.asyncProperty(batchOf(animal), async batch => {
        const created = await Promise.all(
          batch.map(async sent => {
            const { status, text, json } = await service.create(renderJson(sent))
            assert.equal(status, 201, text)
            const { id, ...stored } = json as { id: bigint }
            assert.deepEqual({ ...stored }, { ...sent })
            assert.ok(id > last)
            assert.equal((await service.send('GET', `/v1/pets/${id}`)).text, text)
            return { id, text }
          }),
        )
        created.sort((one, other) => Number(one.id - other.id))
        const listed = await service.send('GET', `/v1/pets?after=${last}`)
        assert.equal(listed.text, `[${created.map(({ text }) => text)}]`)
        last = created.at(-1)?.id ?? last
      }),
      { numRuns: 300 / BATCH },
    )
  })
})

onEveryDatabase('whatever a client sends', startTestService => {
  const service = shared(startTestService)
  const text = fc.string({ unit: anyCharacter, maxLength: 8 }).map(each => each.toWellFormed())
  const anyOf = (...texts: readonly string[]) => fc.oneof(fc.constantFrom(...texts), text)

  const body = fc.oneof(
    fc.json().map(json => Buffer.from(json)),
    fc
      .record(
        { name: fc.jsonValue(), categoryId: fc.oneof(fc.double(), fc.jsonValue()), status: fc.jsonValue() },
        { requiredKeys: [] },
      )
      .map(value => Buffer.from(JSON.stringify(value))),
    fc.uint8Array({ minLength: 1, maxLength: 200 }).map(bytes => Buffer.from(bytes)),
  )
  const pair = fc.tuple(
    anyOf('limit', 'status', 'name', 'categoryId', 'after', 'before'),
    fc.oneof(anyOf(...STATUSES), int64.map(String)),
  )
  const query = fc.array(pair, { maxLength: 4 }).map(pairs => String(new URLSearchParams(pairs)))
  const segment = fc.oneof(
    fc.constantFrom('v1', 'pets', 'docs', '', '.', '..', '%', '%zz', '%2e', '%00', '%ff', ';', '*'),
    int64.map(String),
    text.map(encodeURIComponent),
    // What a client may send without encoding it.
    fc.string({ unit: fc.constantFrom(...'aZ0-._~!$&\'()*+,;=:@%[]{}|\\^`"<>'), maxLength: 8 }),
  )
  const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map(segments => segments.join('/'))

  type Input = readonly [method: string, target: string, sent?: Sent]
  const json = { 'content-type': 'application/json' }
  const inputs: Record<string, [fc.Arbitrary<Input>, expected: readonly number[]]> = {
    'any body gets 201 or 400': [
      body.map(sent => ['POST', '/v1/pets', { headers: json, body: sent }]),
      [201, 400],
    ],
    'any query gets 200 or 400': [query.map(each => ['GET', `/v1/pets?${each}`]), [200, 400]],
    'any path below /v1 gets 200, 400 or 404': [path.map(each => ['GET', `/v1/${each}`]), [200, 400, 404]],
    'any path gets 200, 400 or 404': [path.map(each => ['GET', `/${each}`]), [200, 400, 404]],
  }
  for (const [what, [input, expected]] of Object.entries(inputs)) {
    test(what, async () => {
      // The client of the tests compares each response with the OpenAPI document.
      const check = async ([method, target, sent]: Input) => {
        const { status, text: received } = await service().send(method, target, sent)
        assert.ok(expected.includes(status), `${method} ${target} → ${status} ${received}`)
      }
      const property = fc.asyncProperty(
        batchOf(input),
        async batch => void (await Promise.all(batch.map(check))),
      )
      await fc.assert(property, { numRuns: 400 / BATCH })
    })
  }
})

test('the parser accepts exactly what the schema accepts', async t => {
  const service = await startTestService(t)
  const validate = schemaAt('/components/schemas/NewAnimal')
  const blank = fc.string({
    unit: fc.constantFrom(...'\t\n \u0085\u00a0\u2003\u3000\ufeff\u200b\u180e\0x'),
    maxLength: 4,
  })
  const long = fc.integer({ min: 995, max: 1005 }).map(length => '🐈'.repeat(length))
  // JSON Schema cannot exclude lone surrogates: create.test.ts checks that they are rejected.
  const anyName = fc
    .oneof(name, blank, long, fc.string({ unit: anyCharacter, maxLength: 20 }), fc.jsonValue())
    .filter(isText)
  // The schema is checked with doubles, which are exact up to 2^53. json.test.ts tests larger integers.
  const anyCategory = fc.oneof(
    fc.maxSafeInteger(),
    fc.double({ min: -1e15, max: 1e15 }),
    fc.jsonValue().filter(isText),
  )
  const anyStatus = fc.oneof(status, fc.string(), fc.jsonValue().filter(isText))
  const candidate = fc.oneof(
    fc.record(
      { name: anyName, categoryId: anyCategory, status: anyStatus, extra: fc.jsonValue().filter(isText) },
      { requiredKeys: [] },
    ),
    fc.record(
      { name, categoryId: fc.maxSafeInteger(), status: anyStatus },
      { requiredKeys: ['name', 'categoryId'] },
    ),
    fc.record({ name: anyName, categoryId: fc.maxSafeInteger() }),
    fc.jsonValue().filter(isText),
  )
  const counts = { 201: 0, 400: 0 }
  const check = async (value: unknown) => {
    const body = JSON.stringify(value)
    const reply = await service.create(body)
    assert.ok(reply.status === 201 || reply.status === 400, `${reply.status} for ${body}`)
    assert.equal(reply.status === 201, validate(JSON.parse(body)), `${body} → ${reply.text}`)
    counts[reply.status]++
  }
  const property = fc.asyncProperty(
    batchOf(candidate),
    async batch => void (await Promise.all(batch.map(check))),
  )
  await fc.assert(property, { numRuns: 1_500 / BATCH })
  assert.ok(counts[201] > 100 && counts[400] > 100, JSON.stringify(counts))
})

function isText(value: unknown): boolean {
  return typeof value === 'string' ? value.isWellFormed() : !/\\ud[89a-f]/i.test(JSON.stringify(value))
}
