// Outages of PostgreSQL: it stops, restarts, hangs, locks a table or becomes read-only while the service runs.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import pg from 'pg'
import { generateKey } from '../src/api-key.ts'
import { COMMAND_TIMEOUTS, REQUEST_TIMEOUTS } from '../src/database/postgres/timeouts.ts'
import { skipTime } from './support/clock.ts'
import { administer, countRows, startPostgres } from './support/postgres.ts'
import {
  type Reply,
  type Scope,
  shared,
  startTestService,
  type TestService,
  untilReadiness,
} from './support/service.ts'
import { waitUntil } from './support/wait.ts'

/** The service promises a response in 3 seconds. What takes ten times as long hangs. */
const HANG_MS = 30_000

const CLOSE_CONNECTIONS =
  "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'animal-store'"

suite('when PostgreSQL', () => {
  // Its own server, because the tests stop it.
  const postgres = shared(async t => {
    const server = await startPostgres()
    t.after(() => server.stop())
    return server
  })

  function start(t: Scope, databaseTimeouts = REQUEST_TIMEOUTS): Promise<TestService> {
    return startTestService(t, { database: { kind: 'postgres', url: postgres().url }, databaseTimeouts })
  }

  function countConnections(): Promise<number> {
    return countRows("pg_stat_activity where application_name = 'animal-store'", postgres().url)
  }

  /** Counts our statements that wait for a lock. */
  function countWaiting(): Promise<number> {
    const from = "pg_stat_activity where application_name = 'animal-store' and wait_event_type = 'Lock'"
    return countRows(from, postgres().url)
  }

  async function connectOther(t: Scope): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: postgres().url })
    await client.connect()
    t.after(() => client.end())
    return client
  }

  async function assertUnavailable(service: TestService): Promise<void> {
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
        assert.ok(performance.now() - since < HANG_MS, `${performance.now() - since} ms`)
      }),
    )
    assert.equal((await service.send('GET', '/livez')).status, 200)
  }

  async function assertRecovers(service: TestService): Promise<void> {
    const isReady = async () => (await service.send('GET', '/readyz')).status === 200
    await waitUntil(isReady, { what: 'the service is ready again' })
    assert.equal((await service.create({ name: 'after', categoryId: 1 })).status, 201)
    assert.equal((await service.send('GET', '/v1/pets')).status, 200)
    const connections = await countConnections()
    assert.ok(connections <= 10, `${connections} connections`)
  }

  test('is stopped and started again: 503 until then, and two lines in the log, the second with the number of failed requests', async t => {
    const service = await start(t)
    const linesAt = (level: bigint) => service.logs.filter(line => line.level === level)
    const failed = () => service.logs.filter(line => line.msg === 'request' && line.status === 503n).length
    await service.send('GET', '/v1/pets')
    await postgres().halt()
    for (let round = 0; round < 3; round++) await assertUnavailable(service)
    await postgres().resume()
    const hasEnded = () => linesAt(40n).some(line => line.msg === 'the database is available again')
    const isOver = async () => {
      await service.create({ name: 'after', categoryId: 1 })
      await service.send('GET', '/v1/pets')
      await service.send('GET', '/readyz')
      return hasEnded()
    }
    await waitUntil(isOver, { what: 'the end of the outage is logged' })
    const [begin, ...others] = linesAt(50n)
    assert.deepEqual(others, [])
    const { err, requestId } = begin as { err: { stack: string }; requestId: string }
    assert.match(err.stack, /ECONNREFUSED|terminat|shutting down|\bat\b/)
    assert.ok(service.logs.some(line => line.requestId === requestId && line.status === 503n))
    const ends = linesAt(40n).filter(line => line.failedRequests !== undefined)
    assert.equal(ends.length, 1)
    assert.equal(ends[0]?.failedRequests, BigInt(failed()))
    assert.ok(failed() >= 12)
    await assertRecovers(service)
  })

  test('is restarted while the service is idle: the service recovers by itself', async t => {
    const service = await start(t)
    await service.create({ name: 'before', categoryId: 1 })
    await postgres().halt()
    await postgres().resume()
    await assertRecovers(service)
  })

  test('hangs: 503, and the service recovers by itself', async t => {
    const service = await start(t)
    await service.create({ name: 'before', categoryId: 1 })
    postgres().freeze()
    try {
      await assertUnavailable(service)
      await assertUnavailable(service)
    } finally {
      postgres().thaw()
    }
    await assertRecovers(service)
  })

  test('has a table locked by another client: the number of connections stays limited, and a creation with 503 is not stored', async t => {
    const service = await start(t)
    const other = await connectOther(t)
    await other.query('begin; lock table animals in access exclusive mode')
    const counted: number[] = []
    for (let round = 0; round < 4; round++) {
      const requests = Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0
          ? service.send('GET', '/v1/pets')
          : service.create({ name: 'not stored', categoryId: 1 }),
      )
      for (const { status } of await Promise.all(requests)) assert.equal(status, 503)
      counted.push(await countConnections())
    }
    // On a busy machine, the server may cancel a statement only after its creation was answered.
    await waitUntil(async () => (await countWaiting()) === 0, { what: 'no statement waits for the lock' })
    await other.query('rollback')
    assert.ok(Math.max(...counted) <= 12, `${counted} connections`)
    await assertRecovers(service)
    assert.equal(await countRows("animals where name = 'not stored'", postgres().url), 0)
  })

  test('takes a second for a new connection: a creation with 503 is cancelled all the same', async t => {
    const service = await start(t)
    await service.create({ name: 'before', categoryId: 1 })
    const other = await connectOther(t)
    await other.query('alter system set pre_auth_delay = 1')
    await other.query('select pg_reload_conf()')
    try {
      await other.query('begin; lock table animals in access exclusive mode')
      assert.equal((await service.create({ name: 'cancelled', categoryId: 1 })).status, 503)
      await waitUntil(async () => (await countWaiting()) === 0, { what: 'no statement waits for the lock' })
    } finally {
      await other.query('rollback')
      await other.query('alter system reset pre_auth_delay')
      await other.query('select pg_reload_conf()')
    }
    await assertRecovers(service)
    assert.equal(await countRows("animals where name = 'cancelled'", postgres().url), 0)
  })

  test('becomes read-only, as in a failover: creations get 503, and listings are served', async t => {
    const service = await start(t, COMMAND_TIMEOUTS)
    await administer('alter database postgres set default_transaction_read_only = on', postgres().url)
    await administer(CLOSE_CONNECTIONS, postgres().url)
    try {
      for (let count = 0; count < 2; count++)
        assert.equal((await service.create({ name: 'a', categoryId: 1 })).status, 503)
      // Only the first failure is logged. That may be a connection that was closed.
      assert.match(service.logText(), /25006|read-only|administrator command/)
      await waitUntil(async () => (await service.send('GET', '/v1/pets')).status === 200, {
        what: 'listings are served',
      })
      // The pool opens all of its connections while the database is read-only.
      const listings = Array.from({ length: 30 }, () => service.send('GET', '/v1/pets'))
      for (const { status } of await Promise.all(listings)) assert.equal(status, 200)
      await untilReadiness(service, 503)
    } finally {
      await administer(
        'begin; set transaction read write; alter database postgres reset default_transaction_read_only; commit',
        postgres().url,
      )
    }
    await assertRecovers(service)
    const creations = Array.from({ length: 20 }, () => service.create({ name: 'after', categoryId: 1 }))
    for (const { status } of await Promise.all(creations)) assert.equal(status, 201)
  })

  test('closes our connections (57P01): no response is a 500, and the service recovers', async t => {
    const service = await start(t)
    const statuses = new Set<number>()
    const requests = Array.from({ length: 200 }, async (_, index) => {
      const { status } = await service.create({ name: `a${index}`, categoryId: 1 })
      statuses.add(status)
    })
    await administer(CLOSE_CONNECTIONS, postgres().url)
    await Promise.all(requests)
    for (const status of statuses) assert.ok(status === 201 || status === 503, String(status))
    await assertRecovers(service)
  })

  test('is stopped: a valid key gets 503, never 401, even after its cache entry has expired', async t => {
    const service = await start(t)
    const { secret, apiKey } = generateKey({ name: 'x', environment: 'production', createdAt: new Date() })
    await service.store.createKey(apiKey)
    const list = () => service.send('GET', '/v1/pets', { headers: { authorization: `Bearer ${secret}` } })
    assert.equal((await list()).status, 200)
    await postgres().halt()
    for (let count = 0; count < 5; count++) assert.equal((await list()).status, 503)
    skipTime(t, 4_000)
    for (let count = 0; count < 5; count++) assert.equal((await list()).status, 503)
    await postgres().resume()
    await assertRecovers(service)
    assert.equal((await list()).status, 200)
  })

  test('is stopped during a creation: the retry with the same Idempotency-Key leaves one animal', async t => {
    const service = await start(t)
    const animal = { name: `one ${Date.now()}`, categoryId: 1 }
    const first = service.create(animal, { 'idempotency-key': 'k' })
    await postgres().halt()
    assert.ok([201, 503].includes((await first).status))
    await postgres().resume()
    await assertRecovers(service)
    const second = await service.create(animal, { 'idempotency-key': 'k' })
    assert.equal(second.status, 201)
    assert.equal(await countRows(`animals where name = '${animal.name}'`, postgres().url), 1)
  })
})
