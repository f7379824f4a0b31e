// PostgreSQL that stops, restarts, hangs or turns read-only under a running service.

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { administer, type PostgresServer, startPostgres } from './support/postgres.ts'
import { type Reply, startTestService, type TestService } from './support/service.ts'

const ANSWER_WITHIN_MS = 3_000
const RESUME_WITHIN_MS = 5_000

suite('when PostgreSQL', () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server.stop())

  function start(t: Parameters<typeof startTestService>[0], apiKey?: string) {
    const database = { kind: 'postgres', url: server.url } as const
    return startTestService(t, apiKey === undefined ? { database } : { database, apiKey })
  }

  async function assertAway(service: TestService): Promise<void> {
    const requests: (() => Promise<Reply>)[] = [
      () => service.send('GET', '/v1/pets'),
      () => service.send('GET', '/v1/pets/1'),
      () => service.create({ name: 'a', categoryId: 1 }),
      () => service.send('GET', '/readyz'),
    ]
    await Promise.all(
      requests.map(async request => {
        const since = performance.now()
        const { status } = await request()
        assert.equal(status, 503)
        assert.ok(performance.now() - since < ANSWER_WITHIN_MS, `${performance.now() - since} ms`)
      }),
    )
    assert.equal((await service.send('GET', '/livez')).status, 200)
  }

  async function assertResumes(service: TestService): Promise<void> {
    const since = performance.now()
    while ((await service.send('GET', '/readyz')).status !== 200) {
      assert.ok(performance.now() - since < RESUME_WITHIN_MS)
    }
    assert.equal((await service.create({ name: 'after', categoryId: 1 })).status, 201)
    assert.equal((await service.send('GET', '/v1/pets')).status, 200)
    const { rows } = await administer(
      "select count(*)::int as count from pg_stat_activity where application_name = 'animal-store'",
      server.url,
    )
    assert.ok(rows[0].count <= 10, `${rows[0].count} connections`)
  }

  test('is stopped and started again: 503, then service resumes by itself', async t => {
    const service = await start(t)
    await service.create({ name: 'before', categoryId: 1 })
    await server.halt()
    await assertAway(service)
    await server.resume()
    await assertResumes(service)
  })

  test('is restarted under a service that rests, the first request after it is served', async t => {
    const service = await start(t)
    await service.create({ name: 'before', categoryId: 1 })
    await server.halt()
    await server.resume()
    await assertResumes(service)
  })

  test('hangs: 503 within 3 seconds, then service resumes by itself', async t => {
    const service = await start(t)
    await service.create({ name: 'before', categoryId: 1 })
    server.freeze()
    try {
      await assertAway(service)
      await assertAway(service)
    } finally {
      server.thaw()
    }
    await assertResumes(service)
  })

  test('is locked by someone else: no more than ten connections are held, and what was answered with 503 is not stored', async t => {
    const service = await start(t)
    const other = new pg.Client({ connectionString: server.url })
    await other.connect()
    await other.query('begin; lock table animals in access exclusive mode')
    const connections = async () => {
      const { rows } = await administer(
        "select count(*)::int as count from pg_stat_activity where application_name = 'animal-store'",
        server.url,
      )
      return rows[0].count
    }
    const counted: number[] = []
    for (let round = 0; round < 4; round++) {
      const requests = Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0
          ? service.send('GET', '/v1/pets')
          : service.create({ name: 'not stored', categoryId: 1 }),
      )
      for (const { status } of await Promise.all(requests)) assert.equal(status, 503)
      counted.push(await connections())
    }
    await other.query('rollback')
    await other.end()
    assert.ok(Math.max(...counted) <= 12, `${counted} connections`)
    await assertResumes(service)
    const { rows } = await administer(
      "select count(*)::int as count from animals where name = 'not stored'",
      server.url,
    )
    assert.deepEqual(rows, [{ count: 0 }])
  })

  test('ends our transactions by a time-out of its own: 503', async t => {
    await administer("alter database postgres set transaction_timeout = '200ms'", server.url)
    const service = await start(t)
    const other = new pg.Client({ connectionString: server.url })
    await other.connect()
    await other.query('set transaction_timeout = 0; begin; lock table animals in access exclusive mode')
    try {
      assert.equal((await service.send('GET', '/v1/pets')).status, 503)
      assert.equal((await service.create({ name: 'a', categoryId: 1 })).status, 503)
    } finally {
      await other.query('rollback')
      await other.end()
      await administer('alter database postgres reset transaction_timeout', server.url)
    }
    await assertResumes(service)
  })

  test('turns read-only, as in a failover: creations are 503, listings go on', async t => {
    const service = await start(t)
    await administer('alter database postgres set default_transaction_read_only = on', server.url)
    await administer(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'animal-store'",
      server.url,
    )
    try {
      let reply = await service.create({ name: 'a', categoryId: 1 })
      assert.equal(reply.status, 503)
      reply = await service.create({ name: 'a', categoryId: 1 })
      assert.equal(reply.status, 503)
      assert.match(service.logText(), /25006|read-only/)
      assert.equal((await service.send('GET', '/v1/pets')).status, 200)
      // Every connection of the pool is made while it lasts, and has served a listing.
      const listings = Array.from({ length: 30 }, () => service.send('GET', '/v1/pets'))
      for (const { status } of await Promise.all(listings)) assert.equal(status, 200)
      assert.equal((await service.send('GET', '/readyz')).status, 503)
    } finally {
      await administer(
        'begin; set transaction read write; alter database postgres reset default_transaction_read_only; commit',
        server.url,
      )
    }
    await assertResumes(service)
    const creations = Array.from({ length: 20 }, () => service.create({ name: 'after', categoryId: 1 }))
    for (const { status } of await Promise.all(creations)) assert.equal(status, 201)
  })

  test('ends our connections (57P01): no answer is a 500, and service resumes', async t => {
    const service = await start(t)
    const statuses = new Set<number>()
    const requests = Array.from({ length: 200 }, async (_, index) => {
      const { status } = await service.create({ name: `a${index}`, categoryId: 1 })
      statuses.add(status)
    })
    await administer(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'animal-store'",
      server.url,
    )
    await Promise.all(requests)
    for (const status of statuses) assert.ok(status === 201 || status === 503, String(status))
    await assertResumes(service)
  })

  test('is away, a key that was verified is not called invalid', async t => {
    const service = await start(t)
    const { generateKey } = await import('../src/api-key.ts')
    const { secret, apiKey } = generateKey({ name: 'x', environment: 'production', createdAt: new Date() })
    await service.store.createKey(apiKey)
    const list = () => service.send('GET', '/v1/pets', { headers: { authorization: `Bearer ${secret}` } })
    assert.equal((await list()).status, 200)
    await server.halt()
    const since = performance.now()
    // Longer than a key is remembered, so that it has to be asked for while nobody answers.
    while (performance.now() - since < 4_000) assert.equal((await list()).status, 503)
    await server.resume()
    await assertResumes(service)
    assert.equal((await list()).status, 200)
  })

  test('goes in the middle of a creation, its repetition with the same Idempotency-Key makes one animal', async t => {
    const service = await start(t)
    const animal = { name: `one ${Date.now()}`, categoryId: 1 }
    const first = service.create(animal, { 'idempotency-key': 'k' })
    await server.halt()
    assert.ok([201, 503].includes((await first).status))
    await server.resume()
    await assertResumes(service)
    const second = await service.create(animal, { 'idempotency-key': 'k' })
    assert.equal(second.status, 201)
    const { rows } = await administer(
      `select count(*)::int as count from animals where name = '${animal.name}'`,
      server.url,
    )
    assert.deepEqual(rows, [{ count: 1 }])
  })
})
