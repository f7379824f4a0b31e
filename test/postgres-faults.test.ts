// Faults of a PostgreSQL database that a person has to repair, and faults that only look like success: missing tables,
// columns and privileges, a sequence behind its data, a locked schema, a cancelled wait for a standby.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import pg from 'pg'
import { generateKey } from '../src/api-key.ts'
import { systemClock } from '../src/clock.ts'
import { openPostgresStore } from '../src/database/postgres/store.ts'
import { COMMAND_TIMEOUTS, REQUEST_TIMEOUTS } from '../src/database/postgres/timeouts.ts'
import { isUnavailable } from '../src/error.ts'
import { start as run } from './support/command.ts'
import { administer, countRows, newDatabase, startPostgres } from './support/postgres.ts'
import { startPostgresProxy } from './support/postgres-proxy.ts'
import { type Scope, startTestService, type TestService, temporaryFolder } from './support/service.ts'
import { waitUntil } from './support/wait.ts'

/** A database with its tables, and the URL of a role that may use them but not change them. */
async function prepareDatabase(t: Scope): Promise<{ url: string; roleUrl: string; role: string }> {
  const url = await newDatabase(t)
  await (await openPostgresStore({ url, clock: systemClock })).close()
  const role = `test_role_${randomBytes(6).toString('hex')}`
  await administer(
    `create role ${role} login password 'x';
     grant usage on schema public to ${role};
     grant select, insert, update, delete on all tables in schema public to ${role};
     grant usage on all sequences in schema public to ${role}`,
    url,
  )
  // Runs after the database is dropped. Until then the role has privileges there, and cannot be dropped.
  t.after(() => administer(`drop role ${role}`))
  return { url, roleUrl: url.replace(/\/\/[^@]+@/, `//${role}:x@`), role }
}

const start = (t: Scope, url: string) => startTestService(t, { database: { kind: 'postgres', url } })

const isReady = async (service: TestService) => (await service.send('GET', '/readyz')).status === 200

async function lockRow(t: Scope, url: string, sql: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  // The database may be dropped while the client is connected.
  client.on('error', () => {})
  await client.connect()
  t.after(() => client.end())
  await client.query(`begin; ${sql}`)
  return client
}

const FAULTS: Record<string, (role: string) => [cause: string, repair: string]> = {
  'the table of the animals': () => [
    'alter table animals rename to animals_x',
    'alter table animals_x rename to animals',
  ],
  'the table of the idempotency keys': () => [
    'alter table idempotency_keys rename to keys_x',
    'alter table keys_x rename to idempotency_keys',
  ],
  'the table of the API keys': () => [
    'alter table api_keys rename to keys_x',
    'alter table keys_x rename to api_keys',
  ],
  'a column': () => [
    'alter table animals rename category_id to category_x',
    'alter table animals rename category_x to category_id',
  ],
  'the sequence': () => [
    'alter sequence animals_id_seq rename to ids_x',
    'alter sequence ids_x rename to animals_id_seq',
  ],
  'the privilege to read animals': role => [
    `revoke select on animals from ${role}`,
    `grant select on animals to ${role}`,
  ],
  'the privilege to insert animals': role => [
    `revoke insert on animals from ${role}`,
    `grant insert on animals to ${role}`,
  ],
  'the privilege to insert idempotency keys': role => [
    `revoke insert on idempotency_keys from ${role}`,
    `grant insert on idempotency_keys to ${role}`,
  ],
  'the privilege to use the sequence': role => [
    `revoke usage on sequence animals_id_seq from ${role}`,
    `grant usage on sequence animals_id_seq to ${role}`,
  ],
  'the privilege to use the schema': role => [
    `revoke usage on schema public from ${role}, public`,
    `grant usage on schema public to ${role}, public`,
  ],
}

suite('missing in PostgreSQL, answered with 503 until it is repaired:', () => {
  for (const [what, statements] of Object.entries(FAULTS)) {
    test(what, async t => {
      const { url, roleUrl, role } = await prepareDatabase(t)
      const service = await start(t, roleUrl)
      const { secret, apiKey } = generateKey({ name: 'k', environment: 'production', createdAt: new Date() })
      await service.store.createKey(apiKey)
      const requests = () => [
        service.send('GET', '/v1/pets'),
        service.send('GET', '/v1/pets?status=sold'),
        service.send('GET', '/v1/pets/1'),
        service.send('GET', '/v1/pets', { headers: { authorization: `Bearer ${secret}` } }),
        service.create({ name: 'a', categoryId: 1 }),
        service.create({ name: 'a', categoryId: 1 }, { 'idempotency-key': randomBytes(9).toString('hex') }),
      ]
      const [cause, repair] = statements(role)
      await administer(cause, url)
      assert.equal((await service.send('GET', '/readyz')).status, 503)
      const statuses = new Set((await Promise.all(requests())).map(({ status }) => status))
      assert.ok(statuses.has(503), [...statuses].join())
      assert.ok(!statuses.has(500), service.logText())
      assert.equal((await service.send('GET', '/livez')).status, 200)
      await administer(repair, url)
      assert.ok(await isReady(service))
      for (const { status } of await Promise.all(requests()))
        assert.ok([200, 201, 404].includes(status), `${status}`)
    })
  }
})

test('a lost worker of Citus (XX000) is answered with 503, and any other internal error with 500', async t => {
  const { url } = await prepareDatabase(t)
  let message = ''
  const proxy = await startPostgresProxy(t, url, (_name, text) =>
    message !== '' && /from animals|into animals/.test(text) ? { code: 'XX000', message } : undefined,
  )
  const service = await start(t, proxy)
  const statuses = async () => {
    const replies = await Promise.all([
      service.send('GET', '/v1/pets'),
      service.send('GET', '/v1/pets?before=9&status=sold'),
      service.create({ name: 'a', categoryId: 1 }),
    ])
    return [...new Set(replies.map(({ status }) => status))]
  }
  message = 'failure on connection marked as essential: worker-1:5432'
  assert.deepEqual(await statuses(), [503])
  assert.equal((await service.send('GET', '/readyz')).status, 503)
  message = 'cache lookup failed'
  assert.deepEqual(await statuses(), [500])
  message = ''
  assert.deepEqual(await statuses(), [200, 201])
  assert.ok(await isReady(service))
})

test('a missing privilege that the readiness check finds closes no connection', async t => {
  const { url, roleUrl, role } = await prepareDatabase(t)
  const store = await openPostgresStore({ url: roleUrl, clock: systemClock, timeouts: COMMAND_TIMEOUTS })
  t.after(() => store.close())
  const connections = async () =>
    (await administer(`select pid from pg_stat_activity where usename = '${role}' order by pid`, url)).rows
  await store.ping()
  const before = await connections()
  await administer(`revoke insert on animals from ${role}`, url)
  await assert.rejects(store.ping(), isUnavailable)
  await store.listAnimals({ limit: 1 })
  assert.deepEqual(await connections(), before)
})

suite('a sequence behind its data', () => {
  const INSERT =
    "insert into animals (id, name, category_id) select i, 'by hand', 1 from generate_series(1, 50) i"

  test('is moved by the service where it has the privilege, and never back', async t => {
    const { url } = await prepareDatabase(t)
    const services = [await start(t, url), await start(t, url)] as const
    await administer(INSERT, url)
    const creations = Array.from({ length: 20 }, (_, index) =>
      services[index % 2 === 0 ? 0 : 1].create(
        { name: 'a', categoryId: 1 },
        index % 4 < 2 ? { 'idempotency-key': `${index}` } : {},
      ),
    )
    for (const { status } of await Promise.all(creations)) assert.equal(status, 201)
    assert.equal(await countRows('animals where id > 50', url), 20)
    assert.equal(await countRows('animals', url), 70)
    for (const service of services) assert.ok(await isReady(service))
  })

  test('fails creations and readiness otherwise, until it is repaired', async t => {
    const { url, roleUrl } = await prepareDatabase(t)
    const service = await start(t, roleUrl)
    await administer(INSERT, url)
    assert.ok(await isReady(service))
    assert.equal((await service.create({ name: 'a', categoryId: 1 })).status, 503)
    assert.equal((await service.create({ name: 'a', categoryId: 1 }, { 'idempotency-key': 'k' })).status, 503)
    assert.equal((await service.send('GET', '/readyz')).status, 503)
    assert.equal((await service.send('GET', '/v1/pets')).status, 200)
    await administer("select setval('animals_id_seq', 50)", url)
    await waitUntil(() => isReady(service), { what: 'the service is ready although it creates nothing' })
    await administer("select setval('animals_id_seq', 1)", url)
    assert.equal((await service.create({ name: 'a', categoryId: 1 })).status, 503)
    assert.equal((await service.send('GET', '/readyz')).status, 503)
    await administer("select setval('animals_id_seq', 50)", url)
    assert.equal((await service.create({ name: 'a', categoryId: 1 })).status, 201)
    assert.ok(await isReady(service))
  })

  test('is not moved to the largest possible id, after which no id is left', async t => {
    const { url } = await prepareDatabase(t)
    const service = await start(t, url)
    await administer(`${INSERT}; insert into animals values (9223372036854775807, 'last', 1)`, url)
    assert.equal((await service.create({ name: 'a', categoryId: 1 })).status, 201)
    assert.equal(await countRows('animals where id = 51', url), 1)
    await administer("select setval('animals_id_seq', 9223372036854775807)", url)
    assert.equal((await service.create({ name: 'a', categoryId: 1 })).status, 503)
    assert.equal((await service.create({ name: 'a', categoryId: 1 }, { 'idempotency-key': 'k' })).status, 503)
  })
})

suite('another instance that has locked the schema', () => {
  const LOCK = 'select * from animal_store_schema for update'

  test('delays the migration for as long as it takes, and a message says so once', async t => {
    const url = await newDatabase(t)
    await (await openPostgresStore({ url, clock: systemClock })).close()
    await administer('drop table idempotency_keys; update animal_store_schema set version = 2', url)
    await administer(`alter database ${new URL(url).pathname.slice(1)} set statement_timeout = '500ms'`, url)
    const other = await lockRow(t, url, `set local statement_timeout = 0; ${LOCK}`)
    const warnings: string[] = []
    const opened = openPostgresStore({ url, clock: systemClock, warn: message => warnings.push(message) })
    await waitUntil(() => warnings.length > 0, { what: 'the store says that it waits' })
    // Longer than any statement of a request may take.
    await other.query('select pg_sleep(1.5)')
    await other.query('commit')
    const store = await opened
    t.after(() => store.close())
    assert.equal(warnings.length, 1)
    assert.match(warnings[0] ?? '', /locked the database schema/)
    await store.ping()
  })

  test('delays the creation of the first key in the same way', async t => {
    const { url } = await prepareDatabase(t)
    const other = await lockRow(t, url, LOCK)
    const lines: string[] = []
    const starting = startTestService(t, {
      database: { kind: 'postgres', url },
      apiKey: undefined,
      logStream: { write: line => void lines.push(line) },
    })
    const isWaiting = () => lines.some(line => line.includes('locked the database schema'))
    await waitUntil(isWaiting, { what: 'the log says that the service waits' })
    await other.query('select pg_sleep(0.5); commit')
    assert.ok((await starting).firstKey)
  })
})

suite('a table that another program has locked', () => {
  test('delays a command, which waits longer than a request may', async t => {
    const { url } = await prepareDatabase(t)
    const other = await lockRow(t, url, 'lock table api_keys in access exclusive mode')
    const { ended } = run(t, ['keys', 'create', '--name', 'late'], {
      cwd: temporaryFolder(t),
      env: { DATABASE_URL: url },
    })
    const waiting = `pg_stat_activity where application_name = 'animal-store' and datname = current_database()
      and wait_event_type = 'Lock' and now() - query_start > '${2 * REQUEST_TIMEOUTS.statementMs} ms'`
    await waitUntil(async () => (await countRows(waiting, url)) === 1, {
      what: 'the command has waited longer than a request may',
    })
    await other.query('commit')
    assert.equal((await ended).code, 0)
    assert.equal(await countRows("api_keys where name = 'late'", url), 1)
  })
})

suite('unknown API keys', () => {
  const newKey = () => generateKey({ name: 'k', environment: 'production', createdAt: new Date() })

  test('take one connection, and beyond a limit get 503, while known keys are served', async t => {
    const { url } = await prepareDatabase(t)
    const service = await start(t, url)
    const other = await lockRow(t, url, 'lock table api_keys in access exclusive mode')
    const unknown = Array.from({ length: 1_500 }, () => service.store.findKey(newKey().apiKey.digest))
    const settled = Promise.allSettled(unknown)
    const waiting = "pg_stat_activity where application_name = 'animal-store' and wait_event_type = 'Lock'"
    await waitUntil(async () => (await countRows(`${waiting} and datname = current_database()`, url)) === 1, {
      what: 'the look-up waits for the lock',
    })
    for (let count = 0; count < 20; count++) assert.equal((await service.send('GET', '/v1/pets')).status, 200)
    assert.ok((await countRows(`${waiting} and datname = current_database()`, url)) <= 2)
    await other.query('rollback')
    const rejected = (await settled).filter(({ status }) => status === 'rejected')
    assert.ok(rejected.length >= 1_500 - 256 - 1_024, `${rejected.length} rejected`)
    const authorization = `Bearer ${newKey().secret}`
    assert.equal((await service.send('GET', '/v1/pets', { headers: { authorization } })).status, 401)
  })

  test('are looked up together, and a new key among them is found', async t => {
    const { url } = await prepareDatabase(t)
    const service = await start(t, url)
    const { secret, apiKey } = newKey()
    await service.store.createKey(apiKey)
    const list = (key: string) =>
      service.send('GET', '/v1/pets', { headers: { authorization: `Bearer ${key}` } })
    const strangers = Array.from({ length: 300 }, () => list(newKey().secret))
    assert.equal((await list(secret)).status, 200)
    for (const { status } of await Promise.all(strangers)) assert.equal(status, 401)
    const digests = Array.from({ length: 200 }, () => newKey().apiKey.digest)
    const found = await Promise.all([...digests, apiKey.digest].map(digest => service.store.findKey(digest)))
    assert.deepEqual(found.filter(Boolean), [apiKey])
  })
})

suite('synchronous replication', () => {
  test('a cancelled wait for the standby is answered with 503, although PostgreSQL has committed', async t => {
    const server = await startPostgres()
    t.after(() => server.stop())
    const service = await start(t, server.url)
    const configure = async (setting: string) => {
      await administer(`alter system ${setting}`, server.url)
      await administer('select pg_reload_conf()', server.url)
    }
    const isConfigured = async (names: string) =>
      (await administer('show synchronous_standby_names', server.url)).rows[0].synchronous_standby_names ===
      names
    await configure("set synchronous_standby_names = 'nobody'")
    await waitUntil(() => isConfigured('nobody'), { what: 'the server has the setting' })
    const cancelWaits = () =>
      administer(
        "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'",
        server.url,
      )
    /** Cancels every wait until the work is done. */
    const whileCancelling = async <Result>(work: Promise<Result>) => {
      let isDone = false
      const settled = work.finally(() => {
        isDone = true
      })
      settled.catch(() => {})
      while (!isDone) await cancelWaits()
      return settled
    }
    const animal = { name: 'a', categoryId: 1 }
    const first = await whileCancelling(service.create(animal, { 'idempotency-key': 'k' }))
    assert.equal(first.status, 503)
    // On a busy machine the service's own time-out may come first. That is a 503 too, but not the one meant here.
    for (let count = 0, cause = ''; !/synchronous standby/.test(cause); count++) {
      assert.ok(count < 20, cause)
      const creation = service.store.createAnimals([{ animal: { name: 'b', categoryId: 1n } }])
      cause = await whileCancelling(creation).then(
        () => assert.fail('the creation was acknowledged'),
        error => String(error.cause ?? error),
      )
    }
    await configure('reset synchronous_standby_names')
    await waitUntil(() => isConfigured(''), { what: 'the server has the default' })
    const retry = await service.create(animal, { 'idempotency-key': 'k' })
    assert.equal(retry.status, 201)
    assert.equal(await countRows("animals where name = 'a'", server.url), 1)
  })
})
