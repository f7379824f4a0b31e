// The Idempotency-Key header: repeated creations, conflicts, expiry, and which keys are valid.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { createAnimals } from './support/animals.ts'
import { onEveryDatabase } from './support/databases.ts'
import { shared, startTestService, type TestService } from './support/service.ts'
import { waitUntil } from './support/wait.ts'

const BELLA = { name: 'Bella', categoryId: 7, status: 'sold' }
const HOUR = 60 * 60 * 1000

async function listAll(service: TestService): Promise<string> {
  return (await service.send('GET', '/v1/pets?limit=100')).text
}

onEveryDatabase('Idempotency-Key', startTestService => {
  /** Each test that uses this service sends its own Idempotency-Keys. */
  const service = shared(startTestService)

  test('the same key and animal get the first answer again, and no second animal is stored', async t => {
    const service = await startTestService(t)
    const first = await service.create(BELLA, { 'idempotency-key': 'k1' })
    assert.equal(first.status, 201)
    assert.equal(first.headers['idempotent-replayed'], undefined)
    const second = await service.create(BELLA, { 'idempotency-key': 'k1' })
    assert.equal(second.status, 201)
    assert.equal(second.headers['idempotent-replayed'], 'true')
    assert.equal(second.headers.location, first.headers.location)
    assert.equal(second.text, first.text)
    assert.equal((await service.send('GET', '/v1/pets')).text, `[${first.text}]`)
  })

  test('compares the animals, not the JSON text', async () => {
    await service().create('{"name":"é","categoryId":100}', { 'idempotency-key': 'text' })
    const again = await service().create('{ "x": 1, "categoryId": 1e2, "name": "\\u00e9" }', {
      'idempotency-key': '"text"',
    })
    assert.equal(again.headers['idempotent-replayed'], 'true')
  })

  const conflicts: [string, unknown][] = [
    ['a different name', { ...BELLA, name: 'Momo' }],
    ['a different categoryId', { ...BELLA, categoryId: 8 }],
    ['a different status', { ...BELLA, status: 'pending' }],
    ['a missing status', { name: 'Bella', categoryId: 7 }],
  ]
  for (const [index, [what, other]] of conflicts.entries()) {
    test(`rejects ${what} under the same key with 422, and stores nothing`, async () => {
      const key = `conflict-${index}`
      assert.equal((await service().create(BELLA, { 'idempotency-key': key })).status, 201)
      const before = await listAll(service())
      const reply = await service().create(other, { 'idempotency-key': key })
      assert.equal(reply.status, 422)
      assert.equal(await listAll(service()), before)
    })
  }

  test('twenty concurrent creations with one key all get 201, and nineteen are replays', async t => {
    const service = await startTestService(t)
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => service.create(BELLA, { 'idempotency-key': 'k' })),
    )
    assert.ok(replies.every(reply => reply.status === 201))
    assert.equal(new Set(replies.map(reply => reply.text)).size, 1)
    assert.equal(replies.filter(reply => reply.headers['idempotent-replayed'] === 'true').length, 19)
    assert.equal(((await service.send('GET', '/v1/pets')).json as unknown[]).length, 1)
  })

  test('a key expires after 24 hours', async t => {
    let now = new Date('2027-01-01T00:00:00Z')
    const service = await startTestService(t, { clock: () => now.getTime() })
    await service.create(BELLA, { 'idempotency-key': 'k' })
    now = new Date(now.getTime() + 24 * HOUR - 1)
    const sooner = await service.create(BELLA, { 'idempotency-key': 'k' })
    assert.equal(sooner.headers['idempotent-replayed'], 'true')
    now = new Date(now.getTime() + 1)
    const later = await service.create({ ...BELLA, name: 'Momo' }, { 'idempotency-key': 'k' })
    assert.equal(later.status, 201)
    assert.equal(later.headers['idempotent-replayed'], undefined)
    assert.notEqual(later.headers.location, '/v1/pets/1')
    const replay = await service.create({ ...BELLA, name: 'Momo' }, { 'idempotency-key': 'k' })
    assert.equal(replay.text, later.text)
  })

  test('deletes all expired keys every minute, in batches of 1,000', async t => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    let now = new Date('2027-01-01T00:00:00Z')
    const service = await startTestService(t, { clock: () => now.getTime() })
    const creations = Array.from({ length: 2_500 }, (_, index) => ({
      animal: { name: 'Bella', categoryId: 7n },
      idempotency: { scope: 's', key: String(index) },
    }))
    await createAnimals(service.store, creations)
    now = new Date(now.getTime() + 24 * HOUR)
    const deletions = t.mock.method(service.store, 'deleteExpiredIdempotencyKeys')
    t.mock.timers.tick(60_000)
    await waitUntil(() => deletions.mock.callCount() >= 3, { what: 'the expired keys are deleted' })
    const deleted = await Promise.all(deletions.mock.calls.map(({ result }) => result))
    assert.deepEqual(deleted, [1_000, 1_000, 500])
  })

  test('keeps serving if expired keys cannot be deleted, and logs only the first failure in a row', async t => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const service = await startTestService(t)
    const failing = () => Promise.reject(new Error('no'))
    for (const [deletion, warnings] of [
      [failing, 1],
      [failing, 1],
      [async () => 0, 1],
      [failing, 2],
    ] as const) {
      const { mock } = t.mock.method(service.store, 'deleteExpiredIdempotencyKeys', deletion)
      t.mock.timers.tick(60_000)
      await waitUntil(() => mock.callCount() === 1, { what: 'the keys are deleted' })
      assert.equal((await service.send('GET', '/v1/pets')).status, 200)
      const logged = service.logs.filter(({ msg }) => /^could not delete expired .*: no$/.test(String(msg)))
      assert.equal(logged.length, warnings)
    }
  })

  test('does not store the key of a rejected request', async () => {
    assert.equal((await service().create({ name: '' }, { 'idempotency-key': 'rejected' })).status, 400)
    const reply = await service().create(BELLA, { 'idempotency-key': 'rejected' })
    assert.equal(reply.status, 201)
    assert.equal(reply.headers['idempotent-replayed'], undefined)
  })

  const equivalent: [string, string][] = [
    ['a', '"a"'],
    ['x'.repeat(255), `"${'x'.repeat(255)}"`],
    ['!#$%&()*+,-./:;<=>?@[]^_`{|}~', '"!#$%&()*+,-./:;<=>?@[]^_`{|}~"'],
    ['a\\b', '"a\\\\b"'],
  ]
  for (const [bare, quoted] of equivalent) {
    test(`${bare.slice(0, 30)} and ${quoted.slice(0, 30)} are the same key`, async () => {
      assert.equal((await service().create(BELLA, { 'idempotency-key': bare })).status, 201)
      const reply = await service().create(BELLA, { 'idempotency-key': quoted })
      assert.equal(reply.headers['idempotent-replayed'], 'true')
    })
  }

  test('keys are case-sensitive', async () => {
    await service().create(BELLA, { 'idempotency-key': 'case' })
    const other = await service().create(BELLA, { 'idempotency-key': 'CASE' })
    assert.equal(other.headers['idempotent-replayed'], undefined)
  })

  test('the API key from the environment has the scope "environment", so that no digest of it is stored', async () => {
    await service().create(BELLA, { 'idempotency-key': 'scope' })
    const [outcome] = await createAnimals(service().store, [
      {
        animal: { name: 'Bella', categoryId: 7n, status: 'sold' },
        idempotency: { scope: 'environment', key: 'scope' },
      },
    ])
    assert.equal(outcome?.kind, 'replayed')
  })
})

suite('a malformed Idempotency-Key', () => {
  const service = shared(startTestService)

  const malformed = [
    ...['', '""', 'x'.repeat(256), `"${'x'.repeat(256)}"`, 'a b', '"a b"', 'a\tb', '"a', 'a"', '"'],
    ...['"a"b"', 'a"b', '"a\\"', '"a\\b"', 'caf\u00e9', '"a", "b"'],
  ]
  for (const key of malformed) {
    test(`rejects ${JSON.stringify(key.slice(0, 30))} (length ${key.length}) with 400, and stores nothing`, async () => {
      const reply = await service().create(BELLA, { 'idempotency-key': key })
      assert.equal(reply.status, 400)
      assert.match(reply.text, /Idempotency-Key must be/)
      assert.equal((await service().send('GET', '/v1/pets')).text, '[]')
    })
  }

  test('rejects two Idempotency-Key headers with 400, even if they are equal', async () => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': ['a', 'a'] }
    const reply = await service().send('POST', '/v1/pets', { headers, body: JSON.stringify(BELLA) })
    assert.equal(reply.status, 400)
  })
})
