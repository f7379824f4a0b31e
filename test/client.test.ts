// The client, against the real service, directly and through a proxy that causes network failures.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import {
  type AnimalChanges,
  AnimalStore,
  AnimalStoreError,
  type AnimalStoreErrorCode,
  type AnimalStoreOptions,
  type CallOptions,
  type ConditionalOptions,
  type Deprecation,
  type ListOptions,
  MAX_ID,
  type NewAnimal,
  type Page,
  parseJson,
  type ResponseDetails,
  toJson,
} from '../client/src/animal-store.ts'
import { HTTP_STATUS_OF } from '../src/error.ts'
import { INT64_MAX, INT64_MIN } from '../src/int64.ts'
import { MAX_EXAMINED } from '../src/page.ts'
import { createAnimals } from './support/animals.ts'
import { type Fault, type FaultyProxy, startFaultyProxy } from './support/http-proxy.ts'
import { freePort } from './support/postgres.ts'
import { API_KEY, shared, startTestService, type TestService, temporaryFolder } from './support/service.ts'
import { runSql } from './support/sqlite.ts'
import { waitUntil } from './support/wait.ts'

const BELLA: NewAnimal = { name: 'Bella', categoryId: 7n, status: 'available' }

type Options = Partial<AnimalStoreOptions>

const { version } = JSON.parse(readFileSync(new URL('../client/package.json', import.meta.url), 'utf8'))
const USER_AGENT = `animal-store-client/${version}`

/** For tests that add no animal. */
const emptyService = shared(startTestService)

async function start(
  t: TestContext,
  options: Options = {},
): Promise<{ service: TestService; store: AnimalStore }> {
  const service = await startTestService(t)
  return { service, store: storeAt(service.address, options) }
}

async function startProxy(
  t: TestContext,
  service: TestService,
  faults: readonly Fault[],
  options: Options = {},
): Promise<{ proxy: FaultyProxy; store: AnimalStore }> {
  const proxy = await startFaultyProxy(t, service.address, faults)
  return { proxy, store: storeAt(proxy.address, options) }
}

function storeAt(address: string, options: Options = {}): AnimalStore {
  return new AnimalStore({ baseUrl: `${address}/v1`, apiKey: API_KEY, ...options })
}

async function namesOf(store: AnimalStore): Promise<string[]> {
  return (await Array.fromAsync(store.animals())).map(({ name }) => name)
}

async function errorOf(promise: Promise<unknown>): Promise<AnimalStoreError> {
  const error = await promise.then(
    () => assert.fail('the call did not fail'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof AnimalStoreError, String(error))
  return error
}

suite('the client', () => {
  test('creates animals, and returns them unchanged by id and in lists', async t => {
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
    assert.deepEqual(await store.listAnimals(), { animals: created, previous: undefined, next: undefined })
    for (const animal of created) assert.deepEqual(await store.getAnimal(animal.id), animal)
  })

  test('returns a page with the options for the previous and the next one', async t => {
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
    assert.deepEqual(third.previous, { status: 'available', limit: 2, before: 5n })
    assert.deepEqual(await store.listAnimals(third.previous), second)
    const last = await store.listAnimals({ limit: 2, before: MAX_ID })
    assert.deepEqual(
      last.animals.map(({ name }) => name),
      ['Bella', 'Kim'],
    )
    assert.equal(last.next, undefined)
    const none = { animals: [], previous: undefined, next: undefined }
    assert.deepEqual(await store.listAnimals({ after: INT64_MAX }), none)
    assert.deepEqual(await store.listAnimals({ before: 1n }), none)
    const error = await errorOf(store.listAnimals({ after: 1n, before: 5n }))
    assert.equal(error.message, 'The query may contain after or before, not both.')
  })

  test('sends all filters, and keeps them in the options of the other pages', async t => {
    const { store } = await start(t)
    const name = 'Zoë +1% & "Co" 🐈'
    const filters = { name: 'zoe +1% & "co" 🐈', categoryId: INT64_MIN, status: 'sold' } as const
    for (const animal of [
      ...Array.from({ length: 3 }, () => ({ ...filters, name })),
      { ...filters, name: 'Zoë 1% & "Co" 🐈' },
      { ...filters, name, categoryId: 7n },
      { name, categoryId: INT64_MIN },
    ])
      await store.createAnimal(animal)
    const first = await store.listAnimals({ ...filters, limit: 2 })
    assert.deepEqual(first.next, { ...filters, limit: 2, after: 2n })
    const second = await store.listAnimals(first.next)
    assert.deepEqual(second.previous, { ...filters, limit: 2, before: 3n })
    assert.deepEqual(await store.listAnimals(second.previous), first)
    const ids = [first, second].map(({ animals }) => animals.map(({ id }) => id))
    assert.deepEqual(ids, [[1n, 2n], [3n]])
  })

  test('yields all matches of a search, although some of its pages are short or empty', async t => {
    const service = await startTestService(t)
    const { proxy, store } = await startProxy(t, service, [])
    const kims = Array.from({ length: 1_000 }, () => ({ animal: { name: 'Kim', categoryId: 7n } }))
    await store.createAnimal(BELLA)
    for (let count = 0; count < 2 * MAX_EXAMINED; count += kims.length)
      await createAnimals(service.store, kims)
    await store.createAnimal({ ...BELLA, name: 'Isabella' })
    const lengths: number[] = []
    let options: ListOptions | undefined = { name: 'bella', categoryId: 7n }
    while (options !== undefined) {
      const page: Page = await store.listAnimals(options)
      lengths.push(page.animals.length)
      options = page.next
    }
    assert.deepEqual(lengths, [1, 0, 1])
    for (const newestFirst of [false, true]) {
      const before = proxy.seen.length
      const found = await Array.fromAsync(store.animals({ name: 'bella', categoryId: 7n, newestFirst }))
      const names = found.map(({ name }) => name)
      assert.deepEqual(names, newestFirst ? ['Isabella', 'Bella'] : ['Bella', 'Isabella'])
      assert.equal(proxy.seen.length, before + 3)
    }
  })

  test('changes the members that are set, and resolves with the whole animal', async t => {
    const { store } = await start(t)
    let expected = { id: 1n, ...BELLA }
    await store.createAnimal(BELLA)
    for (const changes of [
      { status: 'sold' },
      { name: ' "é🐈\\ ' },
      { categoryId: INT64_MIN },
      { name: 'Kim', categoryId: INT64_MAX, status: 'pending' },
    ] satisfies AnimalChanges[]) {
      const others = { name: undefined, categoryId: undefined, status: undefined, id: undefined }
      expected = { ...expected, ...changes }
      assert.deepEqual(await store.updateAnimal(1n, { ...others, ...changes }), expected)
      assert.deepEqual(await store.findAnimal(1n), expected)
    }
    const withoutStatus = { id: 1n, name: 'Kim', categoryId: INT64_MAX }
    assert.deepEqual(await store.updateAnimal(1n, { status: null }), withoutStatus)
    assert.deepEqual(await store.updateAnimal(1n, {}), withoutStatus)
    assert.deepEqual(await store.animals().toArray(), [withoutStatus])
  })

  test('takes an animal back whole', async t => {
    const service = await startTestService(t)
    const { proxy, store } = await startProxy(t, service, [])
    const bella = await store.createAnimal(BELLA)
    assert.deepEqual(await store.updateAnimal(bella.id, bella), bella)
    // A change of nothing needs no key, which the service would have to store.
    assert.deepEqual(await store.updateAnimal(bella.id, {}), bella)
    assert.deepEqual(
      proxy.seen.map(({ headers }) => headers['idempotency-key'] !== undefined),
      [true, true, false],
    )
    assert.deepEqual(await store.updateAnimal(bella.id, { ...bella, name: 'Kim' }), { ...bella, name: 'Kim' })
    const [, { method, path, headers } = assert.fail()] = proxy.seen
    assert.deepEqual([method, path], ['PATCH', '/v1/pets/1'])
    assert.equal(headers['content-type'], 'application/merge-patch+json')
    const message = 'the id of an animal cannot be changed'
    for (const id of [2n, 1, null] as bigint[])
      await assert.rejects(store.updateAnimal(1n, { id, name: 'x' }), { name: 'TypeError', message })
    assert.equal(proxy.seen.length, 4)
  })

  test('lets one of many sell an animal, and tells the others', async t => {
    const { store } = await start(t)
    const { id } = await store.createAnimal(BELLA)
    const sell = () => store.updateAnimal(id, { status: 'sold' }, { ifStatus: 'available' })
    const results = await Promise.allSettled([sell(), sell(), sell(), sell()])
    const errors = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []))
    assert.equal(errors.length, 3)
    for (const error of errors) {
      assert.ok(error instanceof AnimalStoreError)
      assert.deepEqual([error.code, error.status], ['conflict', 409])
      assert.match(error.message, /is sold/)
    }
    const next = await store.updateAnimal(id, { status: null }, { ifStatus: 'sold' })
    assert.equal((await errorOf(store.deleteAnimal(id, { ifStatus: 'sold' }))).code, 'conflict')
    assert.deepEqual(await store.findAnimal(id), next)
    await store.deleteAnimal(id, { ifStatus: 'none' })
  })

  test('gives the tag of an animal, which a copy does not have, and takes it as a condition', async t => {
    const { store } = await start(t)
    const created = await store.createAnimal(BELLA)
    assert.match(created.etag ?? '', /^"[0-9a-f]{32}"$/)
    assert.equal((await store.getAnimal(created.id)).etag, created.etag)
    assert.equal((await store.updateAnimal(created.id, {})).etag, created.etag)
    assert.deepEqual(Object.keys(created), ['id', 'name', 'categoryId', 'status'])
    assert.equal('etag' in { ...created }, false)
    assert.equal('etag' in JSON.parse(toJson(created)), false)

    const etag = created.etag ?? ''
    const kim = await store.updateAnimal(created.id, { name: 'Kim' }, { ifMatch: etag })
    assert.notEqual(kim.etag, etag)
    for (const call of [
      () => store.updateAnimal(created.id, { name: 'Rex' }, { ifMatch: etag }),
      () => store.deleteAnimal(created.id, { ifMatch: `${etag}, "x"` }),
      () => store.deleteAnimal(created.id, { ifMatch: `W/${kim.etag}` }),
    ]) {
      const { code, status } = await errorOf(call())
      assert.deepEqual([code, status], ['precondition_failed', 412])
    }
    const malformed = await errorOf(store.deleteAnimal(created.id, { ifMatch: 'x y' }))
    assert.equal(malformed.code, 'invalid_request')
    assert.deepEqual(await store.findAnimal(created.id), kim)
    for (const ifMatch of [`${etag}, ${kim.etag}`, '*'])
      assert.deepEqual(await store.updateAnimal(created.id, {}, { ifMatch }), kim)
  })

  test('has no tag for an animal whose response has none', async t => {
    const body = '{"id":1,"name":"Bella","categoryId":7}'
    const { store } = await startProxy(t, emptyService(), [{ status: 200, body }])
    assert.equal((await store.updateAnimal(1n, {})).etag, undefined)
  })

  test('removes an animal, and says when there is none', async t => {
    const { store } = await start(t)
    const [bella, kim] = [await store.createAnimal(BELLA), await store.createAnimal(BELLA)]
    assert.equal(await store.deleteAnimal(bella.id, { ifMatch: bella.etag ?? '' }), undefined)
    assert.deepEqual(await store.animals().toArray(), [kim])
    for (const call of [
      () => store.deleteAnimal(bella.id),
      () => store.updateAnimal(bella.id, { name: 'Rex' }),
      () => store.deleteAnimal(INT64_MAX + 1n),
    ]) {
      const { code, status } = await errorOf(call())
      assert.deepEqual([code, status], ['not_found', 404])
    }
  })

  test('counts the animals by status', async t => {
    const { service, store } = await start(t)
    assert.deepEqual(await store.inventory(), { available: 0n, pending: 0n, sold: 0n, none: 0n })
    const statuses = ['available', 'sold', 'sold', undefined, undefined, undefined] as const
    for (const status of statuses) await store.createAnimal({ ...BELLA, status })
    const expected = { available: 1n, pending: 0n, sold: 2n, none: 3n }
    assert.deepEqual(await store.inventory(), expected)
    const body = '{"available":9007199254740993,"pending":0,"sold":2,"none":3,"reserved":1}'
    const { store: stubbed } = await startProxy(t, service, [{ status: 200, body }])
    assert.deepEqual(await stubbed.inventory(), { ...expected, available: 9007199254740993n })
    const reason = new Error('cancelled')
    await assert.rejects(store.inventory({ signal: AbortSignal.abort(reason) }), reason)
  })

  test('finds an animal by its id, without the deprecated operation', async t => {
    const path = join(temporaryFolder(), 'animals.db')
    const service = await startTestService(t, { database: { kind: 'sqlite', path } })
    const { proxy, store } = await startProxy(t, service, [])
    const kim: NewAnimal = { name: 'Kim', categoryId: 8n }
    const ids = [INT64_MIN + 1n, -1n, 1n, 2n, 5n, 2n ** 53n + 1n, INT64_MAX]
    const insert = (id: bigint) =>
      runSql(path, `insert into animals (id, name, category_id) values (${id}, 'Kim', 8)`)
    ids.forEach(insert)
    for (const id of ids) assert.deepEqual(await store.findAnimal(id), { id, ...kim })
    const unknown = [INT64_MIN - 1n, INT64_MIN, -2n, 0n, 3n, 2n ** 53n, INT64_MAX - 1n, INT64_MAX + 1n]
    for (const id of unknown) assert.equal(await store.findAnimal(id), undefined, String(id))
    insert(INT64_MIN)
    assert.deepEqual(await store.findAnimal(INT64_MIN), { id: INT64_MIN, ...kim })
    assert.deepEqual([...new Set(proxy.seen.map(({ path }) => path.split('?')[0]))], ['/v1/pets'])
    await assert.rejects(store.findAnimal(1 as unknown as bigint), {
      name: 'TypeError',
      message: 'id must be a bigint, such as 7n',
    })
  })

  test('yields the animals of all pages, and fetches a page only when it is needed', async t => {
    const service = await startTestService(t)
    const { proxy, store } = await startProxy(t, service, [])
    const creations = Array.from({ length: 250 }, (_, index) => ({
      animal: { ...BELLA, name: `a${index}`, status: index % 2 ? ('sold' as const) : ('pending' as const) },
    }))
    await createAnimals(service.store, creations)
    const names = creations.map(({ animal }) => animal.name)
    assert.deepEqual(await namesOf(store), names)
    const sold = await Array.fromAsync(store.animals({ status: 'sold' }))
    assert.deepEqual(
      sold.map(({ name }) => name),
      names.filter((_, index) => index % 2),
    )
    const newestFirst = async (status?: 'sold') =>
      (await Array.fromAsync(store.animals({ status, newestFirst: true }))).map(({ name }) => name)
    assert.deepEqual(await newestFirst(), names.toReversed())
    assert.deepEqual(await newestFirst('sold'), sold.map(({ name }) => name).toReversed())
    const before = proxy.seen.length
    for await (const { name } of store.animals()) if (name === 'a99') break
    assert.equal(proxy.seen.length, before + 1)
    for await (const { name } of store.animals({ newestFirst: true })) if (name === 'a150') break
    assert.equal(proxy.seen.length, before + 2)
  })

  test('asks for no more animals than toArray wants', async t => {
    const service = await startTestService(t)
    const { proxy, store } = await startProxy(t, service, [])
    await createAnimals(
      service.store,
      Array.from({ length: 150 }, () => ({ animal: { ...BELLA, status: 'available' as const } })),
    )
    for (const [options, limit, length, limits] of [
      [{}, 3, 3, ['3']],
      [{ newestFirst: true, status: 'available' }, 1, 1, ['1']],
      [{ name: 'bella' }, 100, 100, ['100']],
      [{ newestFirst: true }, 120, 120, ['100', '20']],
      [{}, 500, 150, ['100', '100']],
      [{}, undefined, 150, ['100', '100']],
    ] as const) {
      const before = proxy.seen.length
      assert.equal((await store.animals(options).toArray({ limit })).length, length)
      const asked = proxy.seen.slice(before).map(({ path }) => new URLSearchParams(path.split('?')[1]))
      assert.deepEqual(
        asked.map(query => query.get('limit')),
        limits,
      )
    }
  })

  test('accepts a base URL with a path, and with or without a slash at its end', async t => {
    const { address } = emptyService()
    for (const baseUrl of [`${address}/v1`, `${address}/v1/`]) {
      const store = new AnimalStore({ baseUrl, apiKey: API_KEY })
      assert.deepEqual(await namesOf(store), [])
    }
    const proxy = await startFaultyProxy(t, address, [])
    const withPath = new AnimalStore({ baseUrl: `${proxy.address}/animals/v1`, apiKey: API_KEY })
    await errorOf(withPath.listAnimals())
    assert.equal(proxy.seen[0]?.path, '/animals/v1/pets')
  })

  test('rejects arguments that it cannot send', async () => {
    const store = storeAt(emptyService().address)
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
    await assert.rejects(store.listAnimals({ categoryId: rounded }), TypeError)
    for (const name of ['Zo\ud800', '\udc08\ud83d', 7 as unknown as string, null as unknown as string]) {
      await assert.rejects(store.listAnimals({ name }), TypeError)
      await assert.rejects(store.animals({ name }).next(), TypeError)
    }
    await assert.rejects(store.getAnimal(rounded), TypeError)
    await assert.rejects(
      store.createAnimal({ name: 'Bella' } as NewAnimal),
      /must have a name and a categoryId$/,
    )
    for (const idempotencyKey of ['two words', null as unknown as string]) {
      await assert.rejects(store.createAnimal(BELLA, { idempotencyKey }), TypeError)
      await assert.rejects(store.updateAnimal(1n, {}, { idempotencyKey }), TypeError)
      await assert.rejects(store.deleteAnimal(1n, { idempotencyKey }), TypeError)
    }
    for (const id of [1, '1', rounded, undefined] as bigint[]) {
      await assert.rejects(store.updateAnimal(id, {}), TypeError)
      await assert.rejects(store.deleteAnimal(id), TypeError)
    }
    for (const changes of [
      ...[{ name: 7 }, { name: null }, { categoryId: 7 }, { categoryId: null }, null, 'sold'],
      ...[{ status: 7 }, { status: Number.NaN }, { status: () => 'sold' }],
    ] as AnimalChanges[])
      await assert.rejects(store.updateAnimal(1n, changes), TypeError)
    // Undefined too: a condition that is meant must not be dropped.
    for (const conditions of [
      ...['', '  ', 'two\nlines', '"é"', undefined, null, 7].map(ifMatch => ({ ifMatch })),
      ...[undefined, null, 7].map(ifStatus => ({ ifStatus })),
    ] as ConditionalOptions[]) {
      await assert.rejects(store.updateAnimal(1n, {}, conditions), /^TypeError: if(Match|Status) must be /)
      await assert.rejects(store.deleteAnimal(1n, conditions), /^TypeError: if(Match|Status) must be /)
    }
    const unknown = { ifStatus: 'lost' } as unknown as ConditionalOptions
    assert.equal((await errorOf(store.deleteAnimal(1n, unknown))).code, 'invalid_request')
    assert.deepEqual(await namesOf(store), [])
  })

  test('rejects unknown members and options, which JavaScript does not check, but ignores an id', async t => {
    const { store } = await start(t)
    const kim = { name: 'Kim', categoryId: 8n }
    await assert.rejects(store.createAnimal({ ...kim, stauts: 'sold' } as NewAnimal), {
      name: 'TypeError',
      message: 'an animal must not have stauts: it has only name, categoryId, status, id',
    })
    await assert.rejects(store.updateAnimal(1n, { stauts: 'sold' } as AnimalChanges), {
      name: 'TypeError',
      message: 'the changes of an animal must not have stauts: it has only name, categoryId, status, id',
    })
    await assert.rejects(store.createAnimal(kim, { ifMatch: '*' } as CallOptions), /must not have ifMatch/)
    const unknown = { limt: 1, x: 2 } as CallOptions & ListOptions
    for (const call of [
      () => store.listAnimals(unknown),
      () => store.animals(unknown).next(),
      () => store.inventory(unknown),
      () => store.createAnimal(kim, unknown),
      () => store.updateAnimal(1n, {}, unknown),
      () => store.deleteAnimal(1n, unknown),
      () => store.findAnimal(1n, unknown),
      () => store.getAnimal(1n, unknown),
      async () => storeAt('https://animals.example', unknown as Options),
    ])
      await assert.rejects(call, /^TypeError: the options of \w+ must not have limt, x: it has only /)
    await assert.rejects(
      store.createAnimal(null as unknown as NewAnimal),
      /^TypeError: an animal must be an object$/,
    )
    const first = await store.createAnimal(kim)
    const { id, ...copy } = await store.createAnimal(first)
    assert.deepEqual([id > first.id, copy], [true, kim])
  })

  test('says which options are missing or of another type', async () => {
    const { address } = emptyService()
    const constructed = (options?: unknown) => () => new AnimalStore(options as AnimalStoreOptions)
    assert.throws(constructed(), /^TypeError: AnimalStore needs baseUrl and apiKey$/)
    assert.throws(constructed({ baseUrl: `${address}/v1` }), /^TypeError: AnimalStore needs apiKey$/)
    for (const name of ['fetch', 'onDeprecation'])
      assert.throws(
        () => storeAt(address, { [name]: 7 }),
        new RegExp(`^TypeError: ${name} must be a function$`),
      )
    const store = storeAt(address)
    const wrong = {
      signal: new AbortController() as unknown as AbortSignal,
      onResponse: 7 as unknown as () => void,
    }
    await assert.rejects(
      store.inventory({ signal: wrong.signal }),
      /^TypeError: signal must be an AbortSignal/,
    )
    await assert.rejects(store.inventory({ onResponse: wrong.onResponse }), /onResponse must be a function$/)
    await assert.rejects(store.inventory({ retries: -1 }), /retries must be a whole number/)
    await assert.rejects(store.inventory({ timeoutMs: 0 }), /timeoutMs must be a positive number/)
    await assert.rejects(store.animals().toArray({ limit: 0 }), /limit must be a whole number of 1 or more$/)
    await assert.rejects(store.animals().toArray(2 as never), /the options of toArray must be an object$/)
    await assert.rejects(
      store.animals().toArray({ limt: 1 } as never),
      /the options of toArray must not have limt: it has only limit$/,
    )
  })

  test('takes a time-out and a number of retries for one call', async t => {
    const silent = await startProxy(t, emptyService(), ['silence'])
    const timedOut = await errorOf(silent.store.inventory({ timeoutMs: 100, retries: 0 }))
    assert.equal(timedOut.code, 'timeout')
    const { proxy, store } = await startProxy(t, emptyService(), [{ status: 503 }, { status: 503 }])
    assert.equal((await errorOf(store.listAnimals({ retries: 1 }))).status, 503)
    assert.equal(proxy.seen.length, 2)
  })

  test('tells the id of a request, and whether a write was replayed', async t => {
    const { store } = await start(t)
    const seen: ResponseDetails[] = []
    const onResponse = (response: ResponseDetails) => void seen.push(response)
    const options = { idempotencyKey: 'once', onResponse }
    const bella = await store.createAnimal(BELLA, options)
    assert.deepEqual(await store.createAnimal(BELLA, options), bella)
    assert.deepEqual(await store.findAnimal(bella.id, { onResponse }), bella)
    assert.deepEqual(await store.animals({ onResponse }).toArray(), [bella])
    await errorOf(store.createAnimal({ ...BELLA, name: ' ' }, { onResponse }))
    assert.deepEqual(
      seen.map(({ isReplayed }) => isReplayed),
      [false, true, false, false],
    )
    assert.equal(new Set(seen.map(({ requestId }) => requestId)).size, 4)
    for (const { requestId } of seen) assert.match(requestId ?? '', /./)
  })

  test('gives an array of animals, or of the first ones, and writes animals as JSON', async t => {
    const { store } = await start(t)
    const animals = []
    for (const name of ['a"b', 'b', 'c'])
      animals.push(await store.createAnimal({ name, categoryId: INT64_MAX }))
    assert.deepEqual(await store.animals().toArray(), animals)
    assert.deepEqual(await store.animals().toArray({ limit: 2 }), animals.slice(0, 2))
    assert.deepEqual(await store.animals({ newestFirst: true }).toArray({ limit: 1 }), animals.slice(2))
    assert.equal(toJson(animals[0]), `{"id":1,"name":"a\\"b","categoryId":${INT64_MAX}}`)
    assert.equal(
      toJson({
        at: new Date(0),
        list: [1n, undefined, null, 'x'],
        none: undefined,
        deep: { n: -1n, ok: true },
      }),
      '{"at":"1970-01-01T00:00:00.000Z","list":[1,null,null,"x"],"deep":{"n":-1,"ok":true}}',
    )
    assert.deepEqual(parseJson(toJson(animals)), animals)
  })

  test('says that a server speaks http on the port of an https URL', async () => {
    const { address } = emptyService()
    const { host } = new URL(address)
    const error = await errorOf(storeAt(`https://${host}`, { retries: 0 }).listAnimals())
    assert.equal(
      error.message,
      `No response from ${host}: the server speaks http on this port, but the URL begins with https.`,
    )
  })

  test('rejects a time-out and a number of retries that mean nothing', async () => {
    const { address } = emptyService()
    for (const timeoutMs of [Number.NaN, '2', 0, -1, null] as number[])
      assert.throws(() => storeAt(address, { timeoutMs }), /^TypeError: timeoutMs must be a positive number/)
    for (const retries of [Number.NaN, '2', -1, 1.5, Infinity] as number[])
      assert.throws(() => storeAt(address, { retries }), /^TypeError: retries must be a whole number/)
    // A delay beyond the largest that a timer accepts would end at once.
    await storeAt(address, { timeoutMs: Infinity, retries: 0 }).listAnimals()
  })

  test('rejects extra headers that it sends itself, and those that cannot be sent', () => {
    for (const name of ['authorization', 'Content-Type', 'IDEMPOTENCY-KEY', 'If-Match']) {
      assert.throws(() => storeAt('https://animals.example', { headers: { [name]: 'x' } }), {
        name: 'TypeError',
        message: `headers must not contain ${name.toLowerCase()}, which the client sets itself`,
      })
    }
    for (const headers of [{ 'two words': 'x' }, { 'x-shop': 'two\nlines' }, { 'x-shop': 'é🐈' }])
      assert.throws(() => storeAt('https://animals.example', { headers }), TypeError)
  })

  test('calls the given fetch, with extra headers, for every attempt', async () => {
    const { address } = emptyService()
    const calls: [url: string, init: RequestInit][] = []
    const store = storeAt(address, {
      headers: new Headers({ 'X-Shop': '7' }),
      fetch: async (url, init) => {
        calls.push([url, init])
        return calls.length === 1 ? new Response(null, { status: 503 }) : fetch(url, init)
      },
    })
    assert.deepEqual((await store.listAnimals({ limit: 5 })).animals, [])
    assert.equal(calls.length, 2)
    for (const [url, { method, headers }] of calls) {
      assert.equal(url, `${address}/v1/pets?limit=5`)
      assert.equal(method, 'GET')
      const expected = { 'user-agent': USER_AGENT, 'x-shop': '7', authorization: `Bearer ${API_KEY}` }
      assert.deepEqual(headers, expected)
    }
  })

  test('says its name and version, except in a browser, unless the program says another', async t => {
    const { proxy, store } = await startProxy(t, emptyService(), [])
    await store.listAnimals()
    await storeAt(proxy.address, { headers: { 'User-Agent': 'till/1.2' } }).listAnimals()
    const sent = proxy.seen.map(({ headers }) => headers['user-agent'])
    assert.deepEqual(sent, [USER_AGENT, 'till/1.2'])
    const { navigator } = globalThis
    t.after(() => Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true }))
    for (const [value, expected] of [
      [undefined, USER_AGENT],
      [{ userAgent: 'Deno/2.9.6' }, USER_AGENT],
      [{ userAgent: 'Mozilla/5.0 (X11; Linux x86_64)' }, undefined],
    ] as const) {
      Object.defineProperty(globalThis, 'navigator', { value, configurable: true })
      const fetch: AnimalStoreOptions['fetch'] = async (_, { headers }) => {
        assert.equal(new Headers(headers).get('user-agent') ?? undefined, expected)
        return new Response('[]')
      }
      await storeAt(emptyService().address, { fetch, retries: 0 }).listAnimals()
    }
  })

  test('reports a deprecated operation once, also if the call fails', async t => {
    const reported: Deprecation[] = []
    const { store } = await start(t, { onDeprecation: deprecation => reported.push(deprecation) })
    assert.equal((await errorOf(store.getAnimal(1n))).code, 'not_found')
    await store.createAnimal(BELLA)
    await store.getAnimal(1n)
    await store.listAnimals()
    assert.deepEqual(reported, [
      {
        operation: 'getAnimal',
        since: new Date('2026-11-15T00:00:00Z'),
        removedAt: new Date('2030-12-05T00:00:00Z'),
      },
    ])
  })
})

suite('an error of the client', () => {
  test('has the code, the status, the message and the request id of the response', async t => {
    const { service, store } = await start(t)
    const withUnknownKey = storeAt(service.address, { apiKey: 'a-key-that-does-not-exist' })
    await store.createAnimal(BELLA, { idempotencyKey: 'one' })
    const calls: [() => Promise<unknown>, string, number, RegExp][] = [
      [() => withUnknownKey.listAnimals(), 'unauthorized', 401, /API key/],
      [() => store.listAnimals({ limit: 101 }), 'invalid_request', 400, /limit/],
      [() => store.listAnimals({ name: '' }), 'invalid_request', 400, /name/],
      [() => store.listAnimals({ categoryId: INT64_MAX + 1n }), 'invalid_request', 400, /categoryId/],
      [() => withUnknownKey.inventory(), 'unauthorized', 401, /API key/],
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
    for (const [call, code, status, message] of calls) {
      const error = await errorOf(call())
      assert.deepEqual([error.name, error.code, error.status], ['AnimalStoreError', code, status])
      assert.match(error.message, message)
      // The service writes the line after it has sent the response.
      await waitUntil(() => service.logText().includes(`"${error.requestId}"`), {
        what: 'the request is logged',
      })
    }
  })

  test('has the seconds until a retry, whether the response has a number or a date', async t => {
    const inAMinute = new Date(Date.now() + 60_000).toUTCString()
    const responses: [Fault, isExpected: (seconds: number | undefined) => boolean][] = [
      [{ status: 503, headers: { 'retry-after': '5' } }, seconds => seconds === 5],
      [{ status: 429, headers: { 'retry-after': inAMinute } }, (seconds = 0) => seconds > 0 && seconds <= 60],
      [{ status: 503, headers: { 'retry-after': new Date(0).toUTCString() } }, seconds => seconds === 0],
      [{ status: 503, headers: { 'retry-after': 'soon' } }, seconds => seconds === undefined],
      [{ status: 503 }, seconds => seconds === undefined],
      ['lost request', seconds => seconds === undefined],
    ]
    const faults = responses.map(([fault]) => fault)
    const { store } = await startProxy(t, emptyService(), faults, { retries: 0 })
    for (const [fault, isExpected] of responses) {
      const { retryAfterSeconds } = await errorOf(store.listAnimals())
      assert.ok(isExpected(retryAfterSeconds), `${JSON.stringify(fault)}: ${retryAfterSeconds}`)
    }
  })

  test('says what cannot be reached, and why, without the API key', async t => {
    const port = await freePort()
    const { proxy } = await startProxy(t, emptyService(), ['lost request', 'half an answer'])
    const [refusing, closing] = [`http://127.0.0.1:${port}`, proxy.address].map(address =>
      storeAt(address, { retries: 0 }),
    )
    for (const [store, message] of [
      [refusing, `No response from 127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}.`],
      [closing, `No response from ${new URL(proxy.address).host}: other side closed.`],
      [closing, `No response from ${new URL(proxy.address).host}: other side closed.`],
    ] as const) {
      const error = await errorOf(store?.listAnimals() ?? Promise.resolve())
      assert.deepEqual([error.code, error.message], ['network_error', message])
      assert.deepEqual([error.status, error.requestId], [undefined, undefined])
      assert.ok(error.cause instanceof Error)
    }
    const failed = (cause: unknown) => new TypeError('fetch failed', { cause })
    for (const [thrown, reason] of [
      [failed(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })), ': ECONNREFUSED'],
      [failed(new Error('self-signed certificate')), ': self-signed certificate'],
      [
        new TypeError('NetworkError when attempting to fetch resource.'),
        ': NetworkError when attempting to fetch resource',
      ],
      [new Error(`the proxy rejects Bearer ${API_KEY}`), ''],
      [undefined, ''],
    ] as const) {
      const store = storeAt('https://animals.example', { retries: 0, fetch: () => Promise.reject(thrown) })
      const error = await errorOf(store.listAnimals())
      assert.equal(error.message, `No response from animals.example${reason}.`)
      assert.equal(error.cause, thrown)
    }
  })

  test('has the idempotency key of a write, so that a person can ask again, and none of a read', async t => {
    const { service, store } = await start(t)
    const { id } = await store.createAnimal(BELLA)
    const faults: Fault[] = ['lost answer', 'silence', { status: 503 }, { status: 200, body: '<h1>Hi</h1>' }]
    for (const fault of faults) {
      const timeoutMs = fault === 'silence' ? 1_000 : 10_000
      const { store } = await startProxy(t, service, [fault, fault], { retries: 0, timeoutMs })
      const { idempotencyKey } = await errorOf(store.updateAnimal(id, { name: 'Kim' }))
      assert.match(idempotencyKey ?? '', /^[0-9a-f]{32}$/)
      const error = await errorOf(store.updateAnimal(id, { name: 'Kim' }, { idempotencyKey }))
      assert.equal(error.idempotencyKey, idempotencyKey)
      assert.equal((await store.updateAnimal(id, { name: 'Kim' }, { idempotencyKey })).name, 'Kim')
    }
    const { idempotencyKey } = await errorOf(
      store.deleteAnimal(id, { ifStatus: 'sold', idempotencyKey: 'one' }),
    )
    assert.equal(idempotencyKey, 'one')
    assert.equal((await errorOf(store.createAnimal({ ...BELLA, name: ' ' }))).idempotencyKey?.length, 32)
    assert.equal((await errorOf(store.getAnimal(99n))).idempotencyKey, undefined)
  })

  test('says that only a removal has a response without a body', async t => {
    const animal = '{"id":1,"name":"Bella","categoryId":7}'
    const calls: [Fault, (store: AnimalStore) => Promise<unknown>][] = [
      [{ status: 204 }, store => store.listAnimals()],
      [{ status: 204 }, store => store.inventory()],
      [{ status: 204 }, store => store.updateAnimal(1n, {})],
      [{ status: 200, body: '' }, store => store.deleteAnimal(1n)],
      [{ status: 200, body: animal }, store => store.deleteAnimal(1n)],
    ]
    const faults = calls.map(([fault]) => fault)
    const { store } = await startProxy(t, emptyService(), faults)
    for (const [{ status }, call] of calls as [{ status: number }, (typeof calls)[0][1]][]) {
      const error = await errorOf(call(store))
      assert.deepEqual([error.code, error.status], ['unexpected_response', status])
    }
  })

  test('says that the response is not from the service', async t => {
    const responses: [Fault, number][] = [
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
    const faults = responses.map(([fault]) => fault)
    const { store } = await startProxy(t, emptyService(), faults)
    for (const [, status] of responses) {
      const error = await errorOf(store.listAnimals({ after: 0n }))
      assert.deepEqual([error.code, error.status], ['unexpected_response', status])
    }
  })

  test('says that an inventory lacks a number', async t => {
    const bodies = [
      ...['null', '[]', '{"available":1,"pending":2,"sold":3}', '{"pending":2,"sold":3,"none":4}'],
      '{"available":1,"pending":"2","sold":3,"none":4}',
      '{"available":1,"pending":2,"sold":3.5,"none":4}',
    ]
    const { store } = await startProxy(
      t,
      emptyService(),
      bodies.map(body => ({ status: 200, body })),
    )
    for (const body of bodies)
      assert.equal((await errorOf(store.inventory())).code, 'unexpected_response', body)
  })

  test('says that an attempt timed out', async t => {
    const { store } = await startProxy(t, emptyService(), ['silence'], { timeoutMs: 100, retries: 0 })
    const error = await errorOf(store.listAnimals())
    assert.deepEqual([error.code, error.status], ['timeout', undefined])
  })
})

suite('the error codes of the client', () => {
  test('are those of the service, and three of its own', () => {
    const source = readFileSync(new URL('../client/src/error.ts', import.meta.url), 'utf8')
    const [union = ''] = /(?<=type AnimalStoreErrorCode =\n)(?: {2}\| .*\n)+/.exec(source) ?? []
    const codes = [...union.matchAll(/'(\w+)'/g)].map(([, code]) => code)
    const own: AnimalStoreErrorCode[] = ['network_error', 'timeout', 'unexpected_response']
    // The client knows a code before a service sends it.
    const expected = new Set([...Object.keys(HTTP_STATUS_OF), 'forbidden', ...own])
    assert.deepEqual(codes.sort(), [...expected].sort())
  })
})

suite('a retry of the client', () => {
  const RETRIED: Fault[] = [
    'lost request',
    'lost answer',
    'half an answer',
    'silence',
    { status: 503, headers: { 'retry-after': '0' } },
    { status: 408 },
    { status: 429 },
    { status: 502, body: '<h1>Bad gateway</h1>' },
  ]

  const service = shared(startTestService)

  for (const fault of RETRIED) {
    const name = typeof fault === 'object' ? fault.status : fault
    test(`follows ${name}, and never acts twice`, async t => {
      const previous = await namesOf(storeAt(service().address))
      // Only silence needs a time-out, and a slow machine must be able to answer within it.
      const options = fault === 'silence' ? { timeoutMs: 1_000 } : {}
      const { proxy, store } = await startProxy(t, service(), [fault, fault], options)
      const { id, name } = await store.createAnimal(BELLA)
      assert.equal(name, 'Bella')
      assert.deepEqual(await namesOf(store), [...previous, 'Bella'])
      const keys = proxy.seen.slice(0, 3).map(({ headers }) => String(headers['idempotency-key']))
      assert.match(keys[0] ?? '', /^[0-9a-f]{32}$/)
      assert.equal(new Set(keys).size, 1)

      // Without the key, the retry of a write that was carried out would find another status, or no animal.
      const writing = await startProxy(t, service(), [fault], options)
      const sold = await writing.store.updateAnimal(id, { status: 'sold' }, { ifStatus: 'available' })
      assert.equal(sold.status, 'sold')
      const removing = await startProxy(t, service(), [fault], options)
      await removing.store.deleteAnimal(id, { ifMatch: sold.etag ?? '', ifStatus: 'sold' })
      assert.deepEqual(await namesOf(storeAt(service().address)), previous)
      for (const { proxy } of [writing, removing])
        assert.equal(new Set(proxy.seen.map(({ headers }) => headers['idempotency-key'])).size, 1)
    })
  }

  test('never adds a second animal, whatever the network does', async t => {
    const fault = fc.constantFrom<Fault>('none', 'lost request', 'lost answer', 'half an answer', {
      status: 503,
    })
    const [faults = []] = fc.sample(fc.array(fault, { minLength: 60, maxLength: 60 }), { numRuns: 1 })
    const service = await startTestService(t)
    const { store } = await startProxy(t, service, faults, { retries: 100 })
    const names = Array.from({ length: 30 }, (_, index) => `a${index}`)
    await Promise.all(names.map(name => store.createAnimal({ name, categoryId: 1n })))
    assert.deepEqual((await namesOf(storeAt(service.address))).sort(), names.sort(), `with ${faults.join()}`)
  })

  test('may have any idempotency key of visible ASCII characters, and each means itself', async t => {
    const { service, store } = await start(t)
    const keys = ['hi', '"hi"', 'say"hi', '"', '\\', '\\"', 'say\\hi', '!~', '"'.repeat(255), 'x'.repeat(255)]
    for (const idempotencyKey of [...keys, ...keys]) await store.createAnimal(BELLA, { idempotencyKey })
    assert.equal((await namesOf(store)).length, keys.length)
    // Other clients of the same service may send the key bare.
    const bella = { ...BELLA, categoryId: Number(BELLA.categoryId) }
    const { headers } = await service.create(bella, { 'idempotency-key': 'say\\hi' })
    assert.equal(headers['idempotent-replayed'], 'true')
  })

  test('waits for Retry-After', async t => {
    const faults = [{ status: 503, headers: { 'retry-after': '1' } }]
    const { proxy, store } = await startProxy(t, emptyService(), faults)
    await store.listAnimals()
    const [first, second] = proxy.seen
    assert.ok((second?.at ?? 0) - (first?.at ?? 0) >= 1_000)
  })

  test('does not follow what cannot pass, but does follow a name server that does not answer', async () => {
    const calls: string[] = []
    const failing = (cause: object) =>
      storeAt('https://animals.example', {
        retries: 1,
        fetch: async url => {
          calls.push(url)
          throw new TypeError('fetch failed', { cause })
        },
      })
    for (const [cause, attempts] of [
      [{ code: 'ENOTFOUND', message: 'getaddrinfo ENOTFOUND animals.example' }, 1],
      [
        {
          message:
            'client error (Connect): dns error: failed to lookup address information: Name or service not known',
        },
        1,
      ],
      [{ message: 'Requests to port 1 are blocked' }, 1],
      [{ message: 'write EPROTO: wrong version number' }, 1],
      [{ code: 'EAI_AGAIN', message: 'getaddrinfo EAI_AGAIN animals.example' }, 2],
      [{ code: 'ECONNREFUSED', message: 'connect ECONNREFUSED' }, 2],
    ] as const) {
      calls.length = 0
      assert.equal((await errorOf(failing(cause).listAnimals())).code, 'network_error')
      assert.equal(calls.length, attempts, cause.message)
    }
    // Retries would take days.
    const error = await errorOf(storeAt('http://127.0.0.1:1', { retries: 10_000 }).listAnimals())
    assert.deepEqual(
      [error.code, error.message],
      ['network_error', 'No response from 127.0.0.1:1: bad port.'],
    )
    assert.throws(() => storeAt('http://127.0.0.1:65536'), TypeError)
  })

  test('does not follow if Retry-After is an hour away', async t => {
    const inAnHour = new Date(Date.now() + 3_600_000).toUTCString()
    const faults = ['3600', inAnHour].map(after => ({ status: 503, headers: { 'retry-after': after } }))
    const { proxy, store } = await startProxy(t, emptyService(), faults)
    for (const _ of faults) assert.equal((await errorOf(store.listAnimals())).status, 503)
    assert.equal(proxy.seen.length, 2)
  })

  test('does not follow a rejected request, and happens at most `retries` times', async t => {
    const faults: Fault[] = ['none', 'lost request', 'lost request', 'lost request']
    const { proxy, store } = await startProxy(t, emptyService(), faults, { retries: 2 })
    await errorOf(store.listAnimals({ limit: 0 }))
    assert.equal(proxy.seen.length, 1)
    assert.equal((await errorOf(store.listAnimals())).code, 'network_error')
    assert.equal(proxy.seen.length, 4)
  })
})

suite('an AbortSignal', () => {
  test('cancels a request before it is sent, while it is in flight, and while it waits for a retry', async t => {
    const reason = new Error('cancelled')
    const { proxy, store } = await startProxy(t, emptyService(), [
      'silence',
      { status: 503, headers: { 'retry-after': '20' } },
    ])
    await assert.rejects(store.listAnimals({ signal: AbortSignal.abort(reason) }), reason)
    assert.equal(proxy.seen.length, 0)
    for (const calls of [1, 2]) {
      const abort = new AbortController()
      const list = store.listAnimals({ signal: abort.signal })
      list.catch(() => {})
      await waitUntil(() => proxy.seen.length >= calls && proxy.answered() >= calls - 1, {
        what: 'the proxy has seen every call',
      })
      abort.abort(reason)
      await assert.rejects(list, reason)
    }
    assert.equal(proxy.seen.length, 2)
  })
})
