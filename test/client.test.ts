// The client, against the real service, directly and through a proxy that does its worst.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import {
  AnimalStore,
  AnimalStoreError,
  type AnimalStoreOptions,
  type Deprecation,
  type NewAnimal,
} from '../client/src/animal-store.ts'
import { INT64_MAX, INT64_MIN } from '../src/json.ts'
import { type Fault, type FaultyProxy, startFaultyProxy } from './support/faulty-proxy.ts'
import { API_KEY, startTestService, type TestService } from './support/service.ts'

const BELLA: NewAnimal = { name: 'Bella', categoryId: 7n, status: 'available' }

type Options = Partial<AnimalStoreOptions>

async function start(
  t: TestContext,
  options: Options = {},
): Promise<{ service: TestService; store: AnimalStore }> {
  const service = await startTestService(t)
  return { service, store: storeAt(service.address, options) }
}

async function startBehind(
  t: TestContext,
  faults: readonly Fault[],
  options: Options = {},
): Promise<{ service: TestService; proxy: FaultyProxy; store: AnimalStore }> {
  const service = await startTestService(t)
  const proxy = await startFaultyProxy(t, service.address, faults)
  return { service, proxy, store: storeAt(proxy.address, options) }
}

function storeAt(address: string, options: Options = {}): AnimalStore {
  return new AnimalStore({ baseUrl: `${address}/v1`, apiKey: API_KEY, ...options })
}

async function all(store: AnimalStore): Promise<string[]> {
  return (await Array.fromAsync(store.animals())).map(({ name }) => name)
}

async function failureOf(promise: Promise<unknown>): Promise<AnimalStoreError> {
  const error = await promise.then(
    () => assert.fail('it did not fail'),
    (failure: unknown) => failure,
  )
  assert.ok(error instanceof AnimalStoreError, String(error))
  return error
}

suite('the client', () => {
  test('creates animals, and gets them and lists them as they were', async t => {
    const { store } = await start(t)
    const animals: NewAnimal[] = [
      BELLA,
      { name: ' "é🐈\\ ', categoryId: INT64_MAX },
      { name: '<img src=x>', categoryId: INT64_MIN, status: 'sold' },
      { name: '9007199254740993', categoryId: 9007199254740993n, status: 'pending' },
    ]
    const created = []
    for (const animal of animals) created.push(await store.createAnimal(animal))
    assert.deepEqual(
      created,
      animals.map((animal, index) => ({ id: BigInt(index + 1), ...animal })),
    )
    assert.deepEqual(await store.listAnimals(), { animals: created, next: undefined })
    for (const animal of created) assert.deepEqual(await store.getAnimal(animal.id), animal)
  })

  test('gives a page and what to ask for to get the next one', async t => {
    const { store } = await start(t)
    for (let count = 0; count < 5; count++) await store.createAnimal(BELLA)
    await store.createAnimal({ name: 'Kim', categoryId: 8n, status: 'sold' })
    const first = await store.listAnimals({ status: 'available', limit: 2 })
    assert.deepEqual(first.next, { status: 'available', limit: 2, after: 2n })
    const second = await store.listAnimals(first.next)
    const third = await store.listAnimals(second.next)
    const ids = [first, second, third].map(({ animals }) => animals.map(({ id }) => id))
    assert.deepEqual(ids, [[1n, 2n], [3n, 4n], [5n]])
    assert.equal(third.next, undefined)
    assert.deepEqual(await store.listAnimals({ after: INT64_MAX }), { animals: [], next: undefined })
  })

  test('walks through all pages, of one status too, and asks for no more than is read', async t => {
    const { service, proxy, store } = await startBehind(t, [])
    const creations = Array.from({ length: 250 }, (_, index) => ({
      animal: { ...BELLA, name: `a${index}`, status: index % 2 ? ('sold' as const) : ('pending' as const) },
    }))
    await service.store.createAnimals(creations)
    const names = creations.map(({ animal }) => animal.name)
    assert.deepEqual(await all(store), names)
    const sold = await Array.fromAsync(store.animals({ status: 'sold' }))
    assert.deepEqual(
      sold.map(({ name }) => name),
      names.filter((_, index) => index % 2),
    )
    const before = proxy.seen.length
    for await (const { name } of store.animals()) if (name === 'a99') break
    assert.equal(proxy.seen.length, before + 1)
  })

  test('takes a base address with or without a slash at its end, and below a path', async t => {
    const { service } = await start(t)
    for (const baseUrl of [`${service.address}/v1`, `${service.address}/v1/`]) {
      const store = new AnimalStore({ baseUrl, apiKey: API_KEY })
      assert.deepEqual(await all(store), [])
    }
    const proxy = await startFaultyProxy(t, service.address, [])
    const below = new AnimalStore({ baseUrl: `${proxy.address}/animals/v1`, apiKey: API_KEY })
    await failureOf(below.listAnimals())
    assert.equal(proxy.seen[0]?.path, '/animals/v1/pets')
  })

  test('refuses what it could not send as it is', async t => {
    const { store } = await start(t)
    for (const baseUrl of [
      ...[
        'animals.example/v1',
        'localhost:8080/v1',
        'ftp://animals.example/v1',
        'https://me@animals.example/v1',
      ],
      ...['https://animals.example', 'https://animals.example/v2', 'https://animals.example/v1?x=/v1'],
    ])
      assert.throws(() => new AnimalStore({ baseUrl, apiKey: API_KEY }), TypeError)
    for (const apiKey of ['', 'two words', 'line\n', undefined as unknown as string])
      assert.throws(() => new AnimalStore({ baseUrl: 'https://animals.example/v1', apiKey }), TypeError)
    const rounded = 9007199254740992 as unknown as bigint
    await assert.rejects(store.createAnimal({ name: 'Bella', categoryId: rounded }), TypeError)
    await assert.rejects(store.listAnimals({ after: rounded }), TypeError)
    await assert.rejects(store.getAnimal(rounded), TypeError)
    for (const idempotencyKey of ['two words', null as unknown as string])
      await assert.rejects(store.createAnimal(BELLA, { idempotencyKey }), TypeError)
    assert.deepEqual(await all(store), [])
  })

  test('tells once that an operation is deprecated, whatever it answers', async t => {
    const told: Deprecation[] = []
    const { store } = await start(t, { onDeprecation: deprecation => told.push(deprecation) })
    assert.equal((await failureOf(store.getAnimal(1n))).code, 'not_found')
    await store.createAnimal(BELLA)
    await store.getAnimal(1n)
    await store.listAnimals()
    assert.deepEqual(told, [
      {
        operation: 'getAnimal',
        since: new Date('2026-11-15T00:00:00Z'),
        removedAt: new Date('2030-12-05T00:00:00Z'),
      },
    ])
  })
})

suite('an error of the client', () => {
  test('is what the service said', async t => {
    const { service, store } = await start(t)
    const stranger = storeAt(service.address, { apiKey: 'a-key-that-nobody-gave-out' })
    await store.createAnimal(BELLA, { idempotencyKey: 'one' })
    const failures: [() => Promise<unknown>, string, number, RegExp][] = [
      [() => stranger.listAnimals(), 'unauthorized', 401, /API key/],
      [() => store.listAnimals({ limit: 101 }), 'invalid_request', 400, /limit/],
      [() => store.createAnimal({ name: ' ', categoryId: 1n }), 'invalid_request', 400, /blank/],
      [() => store.createAnimal({ name: '\ud800', categoryId: 1n }), 'invalid_request', 400, /surrogate/],
      [
        () => store.createAnimal({ name: 'x', categoryId: INT64_MAX + 1n }),
        'invalid_request',
        400,
        /categoryId/,
      ],
      [() => store.getAnimal(99n), 'not_found', 404, /no animal/],
      [
        () => store.createAnimal({ ...BELLA, name: 'Kim' }, { idempotencyKey: 'one' }),
        'idempotency_key_reused',
        422,
        /Idempotency-Key/,
      ],
    ]
    for (const [ask, code, status, message] of failures) {
      const error = await failureOf(ask())
      assert.deepEqual([error.name, error.code, error.status], ['AnimalStoreError', code, status])
      assert.match(error.message, message)
      // The line is written when the answer has left.
      while (!service.logText().includes(`"${error.requestId}"`)) await delay(5)
    }
  })

  test('says when nobody answered, or somebody else', async t => {
    const nowhere = storeAt('http://127.0.0.1:1', { retries: 0 })
    const unreached = await failureOf(nowhere.listAnimals())
    assert.deepEqual(
      [unreached.code, unreached.status, unreached.requestId],
      ['network_error', undefined, undefined],
    )
    assert.ok(unreached.cause instanceof Error)
    const others: [Fault, number][] = [
      [{ status: 404, body: '<h1>Not found</h1>' }, 404],
      [{ status: 200, body: '<h1>Welcome</h1>' }, 200],
      [{ status: 200, body: '{"animals":[]}' }, 200],
      [{ status: 200, body: '[{"id":1.5,"name":"Bella","categoryId":7}]' }, 200],
      [{ status: 200, body: '[{"id":1,"name":"Bella","categoryId":7,"status":4}]' }, 200],
      [{ status: 400, body: '{"code":"<b>","message":"x"}' }, 400],
      [{ status: 301, headers: { location: 'https://animals.example/v1/pets' } }, 301],
      ...['x', '', '0', '-9223372036854775808'].map((after): [Fault, number] => [
        { status: 200, headers: { link: `</v1/pets?after=${after}>; rel="next"` }, body: '[]' },
        200,
      ]),
    ]
    const { store } = await startBehind(
      t,
      others.map(([fault]) => fault),
    )
    for (const [, status] of others) {
      const error = await failureOf(store.listAnimals({ after: 0n }))
      assert.deepEqual([error.code, error.status], ['unexpected_response', status])
    }
  })

  test('says that an attempt took too long', async t => {
    const { store } = await startBehind(t, ['silence'], { timeoutMs: 100, retries: 0 })
    const error = await failureOf(store.listAnimals())
    assert.deepEqual([error.code, error.status], ['timeout', undefined])
  })
})

suite('a retry of the client', () => {
  const WORTH_ONE: Fault[] = [
    'lost request',
    'lost answer',
    'half an answer',
    'silence',
    { status: 503, headers: { 'retry-after': '0' } },
    { status: 429 },
    { status: 502, body: '<h1>Bad gateway</h1>' },
  ]

  for (const fault of WORTH_ONE) {
    const name = typeof fault === 'object' ? fault.status : fault
    test(`follows ${name}, and makes no second animal`, async t => {
      const { proxy, store } = await startBehind(t, [fault, fault], { timeoutMs: 400 })
      const animal = await store.createAnimal(BELLA)
      assert.deepEqual(await all(store), ['Bella'])
      assert.equal(animal.name, 'Bella')
      const [first, second, third] = proxy.seen
      const key = first?.headers['idempotency-key']
      assert.match(String(key), /^[0-9a-f]{32}$/)
      for (const seen of [second, third]) assert.equal(seen?.headers['idempotency-key'], key)
    })
  }

  test('never makes a second animal, whatever happens on the way', async t => {
    const fault = fc.constantFrom<Fault>('none', 'lost request', 'lost answer', 'half an answer', {
      status: 503,
    })
    const [faults = []] = fc.sample(fc.array(fault, { minLength: 60, maxLength: 60 }), { numRuns: 1 })
    const { service, store } = await startBehind(t, faults, { retries: 100 })
    const names = Array.from({ length: 30 }, (_, index) => `a${index}`)
    await Promise.all(names.map(name => store.createAnimal({ name, categoryId: 1n })))
    assert.deepEqual((await all(storeAt(service.address))).sort(), names.sort(), `with ${faults.join()}`)
  })

  test('waits as long as the service asks for', async t => {
    const { proxy, store } = await startBehind(t, [{ status: 503, headers: { 'retry-after': '1' } }])
    await store.listAnimals()
    const [first, second] = proxy.seen
    assert.ok((second?.at ?? 0) - (first?.at ?? 0) >= 1_000)
  })

  test('is not made for a wait that nobody would sit through', async t => {
    const inAnHour = new Date(Date.now() + 3_600_000).toUTCString()
    const faults = ['3600', inAnHour].map(after => ({ status: 503, headers: { 'retry-after': after } }))
    const { proxy, store } = await startBehind(t, faults)
    for (const _ of faults) assert.equal((await failureOf(store.listAnimals())).status, 503)
    assert.equal(proxy.seen.length, 2)
  })

  test('is not made for what would be refused again, nor more often than asked for', async t => {
    const { proxy, store } = await startBehind(t, ['none', 'lost request', 'lost request', 'lost request'], {
      retries: 2,
    })
    await failureOf(store.listAnimals({ limit: 0 }))
    assert.equal(proxy.seen.length, 1)
    assert.equal((await failureOf(store.listAnimals())).code, 'network_error')
    assert.equal(proxy.seen.length, 4)
  })
})

suite('an AbortSignal', () => {
  test('ends a request before it is sent, while it is under way, and while it waits for another try', async t => {
    const reason = new Error('enough')
    const { proxy, store } = await startBehind(t, [
      'silence',
      { status: 503, headers: { 'retry-after': '20' } },
    ])
    await assert.rejects(store.listAnimals({ signal: AbortSignal.abort(reason) }), reason)
    assert.equal(proxy.seen.length, 0)
    for (const calls of [1, 2]) {
      const abort = new AbortController()
      const list = store.listAnimals({ signal: abort.signal })
      list.catch(() => {})
      while (proxy.seen.length < calls || proxy.answered() < calls - 1) await delay(5)
      abort.abort(reason)
      await assert.rejects(list, reason)
    }
    assert.equal(proxy.seen.length, 2)
  })
})
