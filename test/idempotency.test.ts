import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEveryDatabase } from './support/databases.ts'

const BELLA = { name: 'Bella', categoryId: 7, status: 'sold' }
const HOUR = 60 * 60 * 1000

onEveryDatabase('Idempotency-Key', startTestService => {
  test('the same key and animal give the first answer again, and no second animal', async t => {
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

  test('the animal is compared, not its spelling', async t => {
    const service = await startTestService(t)
    await service.create('{"name":"é","categoryId":100}', { 'idempotency-key': 'k' })
    const again = await service.create('{ "x": 1, "categoryId": 1e2, "name": "\\u00e9" }', {
      'idempotency-key': '"k"',
    })
    assert.equal(again.headers['idempotent-replayed'], 'true')
  })

  const others: [string, unknown][] = [
    ['name', { ...BELLA, name: 'Momo' }],
    ['categoryId', { ...BELLA, categoryId: 8 }],
    ['status', { ...BELLA, status: 'pending' }],
    ['absence of a status', { name: 'Bella', categoryId: 7 }],
  ]
  for (const [what, other] of others) {
    test(`another ${what} under the same key is 422, and nothing is stored`, async t => {
      const service = await startTestService(t)
      await service.create(BELLA, { 'idempotency-key': 'k' })
      const reply = await service.create(other, { 'idempotency-key': 'k' })
      assert.equal(reply.status, 422)
      assert.equal((reply.json as { code: string }).code, 'idempotency_key_reused')
      assert.equal(((await service.send('GET', '/v1/pets')).json as unknown[]).length, 1)
    })
  }

  test('of twenty at once all are 201 and nineteen are replays', async t => {
    const service = await startTestService(t)
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => service.create(BELLA, { 'idempotency-key': 'k' })),
    )
    assert.ok(replies.every(reply => reply.status === 201))
    assert.equal(new Set(replies.map(reply => reply.text)).size, 1)
    assert.equal(replies.filter(reply => reply.headers['idempotent-replayed'] === 'true').length, 19)
    assert.equal(((await service.send('GET', '/v1/pets')).json as unknown[]).length, 1)
  })

  test('it is remembered for 24 hours and forgotten then', async t => {
    let now = new Date('2027-01-01T00:00:00Z')
    const service = await startTestService(t, { clock: () => now.getTime() })
    await service.create(BELLA, { 'idempotency-key': 'k' })
    now = new Date(now.getTime() + 24 * HOUR - 1)
    assert.equal(
      (await service.create(BELLA, { 'idempotency-key': 'k' })).headers['idempotent-replayed'],
      'true',
    )
    now = new Date(now.getTime() + 1)
    const later = await service.create({ ...BELLA, name: 'Momo' }, { 'idempotency-key': 'k' })
    assert.equal(later.status, 201)
    assert.equal(later.headers['idempotent-replayed'], undefined)
    assert.notEqual(later.headers.location, '/v1/pets/1')
    const replay = await service.create({ ...BELLA, name: 'Momo' }, { 'idempotency-key': 'k' })
    assert.equal(replay.text, later.text)
  })

  test('what has passed is forgotten every minute, all of it, in bounded steps', async t => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    let now = new Date('2027-01-01T00:00:00Z')
    const service = await startTestService(t, { clock: () => now.getTime() })
    const creations = Array.from({ length: 2_500 }, (_, index) => ({
      animal: { name: 'Bella', categoryId: 7n },
      idempotency: { scope: 's', key: String(index) },
    }))
    await service.store.createAnimals(creations)
    now = new Date(now.getTime() + 24 * HOUR)
    const forget = t.mock.method(service.store, 'deleteExpiredIdempotencyKeys')
    t.mock.timers.tick(60_000)
    while (forget.mock.callCount() < 3) await service.send('GET', '/livez')
    const forgotten = await Promise.all(forget.mock.calls.map(({ result }) => result))
    assert.deepEqual(forgotten, [1_000, 1_000, 500])
  })

  test('a clean-up that fails is logged, and the service goes on', async t => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const service = await startTestService(t)
    service.store.deleteExpiredIdempotencyKeys = async () => {
      throw new Error('no')
    }
    t.mock.timers.tick(60_000)
    while (!service.logs.some(({ level }) => level === 40n)) await service.send('GET', '/livez')
    assert.equal((await service.send('GET', '/v1/pets')).status, 200)
  })

  test('refused requests are not remembered', async t => {
    const service = await startTestService(t)
    assert.equal((await service.create({ name: '' }, { 'idempotency-key': 'k' })).status, 400)
    const reply = await service.create(BELLA, { 'idempotency-key': 'k' })
    assert.equal(reply.status, 201)
    assert.equal(reply.headers['idempotent-replayed'], undefined)
  })

  const same: [string, string][] = [
    ['a', '"a"'],
    ['x'.repeat(255), `"${'x'.repeat(255)}"`],
    ['!#$%&()*+,-./:;<=>?@[]^_`{|}~', '"!#$%&()*+,-./:;<=>?@[]^_`{|}~"'],
    ['a\\b', '"a\\\\b"'],
  ]
  for (const [bare, quoted] of same) {
    test(`${bare.slice(0, 30)} and ${quoted.slice(0, 30)} are one key`, async t => {
      const service = await startTestService(t)
      assert.equal((await service.create(BELLA, { 'idempotency-key': bare })).status, 201)
      const reply = await service.create(BELLA, { 'idempotency-key': quoted })
      assert.equal(reply.headers['idempotent-replayed'], 'true')
    })
  }

  test('keys differ by letter case', async t => {
    const service = await startTestService(t)
    await service.create(BELLA, { 'idempotency-key': 'k' })
    assert.equal(
      (await service.create(BELLA, { 'idempotency-key': 'K' })).headers['idempotent-replayed'],
      undefined,
    )
  })

  const malformed = [
    '',
    '""',
    'x'.repeat(256),
    `"${'x'.repeat(256)}"`,
    'a b',
    '"a b"',
    'a\tb',
    '"a',
    'a"',
    '"',
    '"a"b"',
    'a"b',
    '"a\\"',
    '"a\\b"',
    'caf\u00e9',
    '"a", "b"',
  ]
  for (const key of malformed) {
    test(`${JSON.stringify(key.slice(0, 30))} (${key.length}) is malformed: 400`, async t => {
      const service = await startTestService(t)
      const reply = await service.create(BELLA, { 'idempotency-key': key })
      assert.equal(reply.status, 400)
      assert.match(reply.text, /Idempotency-Key must be/)
      assert.equal((await service.send('GET', '/v1/pets')).text, '[]')
    })
  }

  test('two headers are malformed, the same twice too', async t => {
    const service = await startTestService(t)
    for (const keys of [
      ['a', 'b'],
      ['a', 'a'],
    ]) {
      const reply = await service.send('POST', '/v1/pets', {
        headers: { 'content-type': 'application/json', 'idempotency-key': keys },
        body: JSON.stringify(BELLA),
      })
      assert.equal(reply.status, 400)
    }
  })

  test('it means nothing to the other operations', async t => {
    const service = await startTestService(t)
    assert.equal(
      (await service.send('GET', '/v1/pets', { headers: { 'idempotency-key': 'a b' } })).status,
      200,
    )
  })
})
