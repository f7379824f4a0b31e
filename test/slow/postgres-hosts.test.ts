// URLs with several hosts: how they are parsed, and how the service finds the writable server, at start and after a
// failover.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { suite, test } from 'node:test'
import pg from 'pg'
import { openPool } from '../../src/database/postgres/pool.ts'
import { COMMAND_TIMEOUTS, REQUEST_TIMEOUTS } from '../../src/database/postgres/timeouts.ts'
import { MalformedUrl, parsePostgresUrl } from '../../src/database/postgres/url.ts'
import { start } from '../support/command.ts'
import {
  administer,
  borrowDatabase,
  countRows,
  freePort,
  type PostgresServer,
  startPostgres,
} from '../support/postgres.ts'
import {
  type Scope,
  shared,
  startTestService,
  type TestService,
  temporaryFolder,
  untilReadiness,
} from '../support/service.ts'
import { waitUntil } from '../support/wait.ts'

/** A host that does not answer is given up after 3 seconds, which is long enough for a host that answers on a busy machine. */
const TIMEOUTS = { ...COMMAND_TIMEOUTS, connectMs: 3_000, statementMs: 3_000 }

/** A server that accepts connections and never answers. Its URL is that of another server, except for the port. */
async function startSilentServer(t: Scope, url: string): Promise<{ url: string }> {
  const server = createServer(socket => {
    socket.on('error', () => {})
    t.after(() => socket.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  return { url: Object.assign(new URL(url), { port: (server.address() as AddressInfo).port }).href }
}

suite('a PostgreSQL URL', () => {
  const hostsOf = (url: string) =>
    parsePostgresUrl(url).urls.map(each => {
      const { host, port } = new pg.Client({ connectionString: each })
      return `${host}|${port}`
    })

  const SEVERAL: readonly (readonly [url: string, hosts: readonly string[]])[] = [
    ['postgres://u:p@h1:5433,h2:5434/db', ['h1|5433', 'h2|5434']],
    ['postgresql://u:p@h1,h2:5434/db', ['h1|5432', 'h2|5434']],
    ['postgres://h1,h2,h3/db?target_session_attrs=read-write', ['h1|5432', 'h2|5432', 'h3|5432']],
    ['postgres://u:p@[::1]:5433,[fe80::2],10.0.0.3/db', ['::1|5433', 'fe80::2|5432', '10.0.0.3|5432']],
    ['postgres://u:p@/db?host=h1,h2&port=5433,5434', ['h1|5433', 'h2|5434']],
    ['postgres:///db?host=h1,h2&port=5433', ['h1|5433', 'h2|5433']],
    ['postgres:///db?host=h1,::1,/run/postgresql', ['h1|5432', '::1|5432', '/run/postgresql|5432']],
    ['postgres://u:p@h1,h2/db?port=6000', ['h1|6000', 'h2|6000']],
    ['postgres://u:p@%2Frun%2Fpostgresql,h2/db', ['/run/postgresql|5432', 'h2|5432']],
    ['postgres://u:p@,h2/db', ['localhost|5432', 'h2|5432']],
  ]
  for (const [url, hosts] of SEVERAL)
    test(`${url} has the hosts ${hosts.join(' and ')}`, () => assert.deepEqual(hostsOf(url), hosts))

  test('keeps user, password, database and parameters for each host', () => {
    for (const url of parsePostgresUrl(
      'postgres://us%40er:p%2Fw%2C1@h1,h2/my%20db?target_session_attrs=primary&sslmode=disable',
    ).urls) {
      const { user, password, database, ssl } = new pg.Client({ connectionString: url })
      assert.deepEqual([user, password, database, ssl], ['us@er', 'p/w,1', 'my db', false])
    }
  })

  test('with one host is passed to pg unchanged', () => {
    for (const url of ['postgres://u:p@h/db?sslmode=verify-full', 'postgres:///db', 'postgres://%2Frun/db'])
      assert.deepEqual(parsePostgresUrl(url).urls, [url])
  })

  test('with sslmode prefer, require or verify-ca is read as verify-full, as pg does', () => {
    for (const mode of ['prefer', 'require', 'verify-ca'])
      assert.deepEqual(parsePostgresUrl(`postgres://u@h/db?sslmode=${mode}&sslrootcert=ca.pem`).urls, [
        'postgres://u@h/db?sslmode=verify-full&sslrootcert=ca.pem',
      ])
    for (const query of ['sslmode=disable', 'sslmode=no-verify', 'uselibpqcompat=true&sslmode=require'])
      assert.deepEqual(parsePostgresUrl(`postgres://u@h/db?${query}`).urls, [`postgres://u@h/db?${query}`])
  })

  test('is named without user, password and parameters', () => {
    const { name } = parsePostgresUrl('postgres://u:HUNTER2@h1,[::1]:5433/db?sslmode=require')
    assert.equal(name, 'postgres://h1,[::1]:5433/db')
  })

  test('may have any target_session_attrs of libpq', () => {
    for (const target of ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'])
      parsePostgresUrl(`postgres://u:p@h1,h2/db?target_session_attrs=${target}`)
  })

  for (const url of [
    'postgres://u:p@h1,h2/db?target_session_attrs=writable',
    'postgres://u:p@h1:1,h2:2/db?port=1,2,3',
    'postgres://u:p@h1:99999,h2/db',
    'postgres://u:p@h1:x,h2/db',
    'postgres://u:p@::1,h2/db',
    'postgres://u:%zz@h1,h2/db',
    'postgres://u:p#w@h1,h2/db',
  ])
    test(`must not be ${url}`, () => assert.throws(() => parsePostgresUrl(url), MalformedUrl))

  for (const [query, message] of [
    [
      'sslmode=requir',
      /^a URL whose sslmode is one of disable, prefer, require, verify-ca, verify-full, no-verify$/,
    ],
    ['sslmode=', /^a URL whose sslmode is one of disable, /],
    ['sslmode=REQUIRE', /^a URL whose sslmode is one of disable, /],
    ['sslnegotiation=tls', /^a URL whose sslnegotiation is one of postgres, direct$/],
    ['uselibpqcompat=1', /^a URL whose uselibpqcompat is one of true, false$/],
    ['sslmod=require', /^a URL whose parameters are among host, port, .*, sslmode, .*, without sslmod$/],
    ['connect_timeout=5', /, without connect_timeout$/],
    ['constructor=1', /, without constructor$/],
    ['sslmode=require&sslmode=disable', /^a URL that has sslmode only once$/],
  ] as const)
    test(`with one host or several must not have the parameters ${query}`, () => {
      for (const hosts of ['h', 'h1,h2'])
        assert.throws(
          () => parsePostgresUrl(`postgres://u:HUNTER2@${hosts}/db?${query}`),
          (error: unknown) => {
            assert.ok(error instanceof MalformedUrl)
            assert.match(error.message, message)
            assert.doesNotMatch(error.message, /HUNTER2/)
            return true
          },
        )
    })

  test('with a question mark in its password is rejected without showing any part of it', () => {
    for (const password of ['12?HUNTER2', '12?HUNTER2=x', '12?sslmode=HUNTER2'])
      assert.throws(
        () => parsePostgresUrl(`postgres://u:${password}@h/db`),
        (error: unknown) => {
          assert.ok(error instanceof MalformedUrl)
          assert.doesNotMatch(error.message, /HUNTER2/)
          return true
        },
      )
  })

  test('may have every parameter that pg uses', () => {
    const query =
      'application_name=me%40here&options=-c%20search_path%3Dshop&sslmode=disable&sslnegotiation=postgres&uselibpqcompat=false'
    const { urls } = parsePostgresUrl(`postgres://h1,h2/db?user=u&password=p%40w&${query}`)
    for (const url of urls) {
      const { user, password, ssl } = new pg.Client({ connectionString: url })
      assert.deepEqual([user, password, ssl], ['u', 'p@w', false])
    }
  })
})

suite('with several hosts, the service', () => {
  // A primary and a hot standby of it. Each test of a failover starts its own pair, because it changes the servers.
  async function startPair(t: Scope): Promise<[PostgresServer, PostgresServer]> {
    const primary = await startPostgres()
    t.after(() => primary.stop())
    const standby = await startPostgres(undefined, undefined, primary)
    t.after(() => standby.stop())
    return [primary, standby]
  }
  const pair = shared(startPair)

  function urlOf(...servers: readonly { readonly url: string }[]): string {
    return `postgres://postgres:postgres@${servers.map(({ url }) => new URL(url).host).join()}/postgres`
  }

  function serviceOn(t: Scope, url: string, databaseTimeouts = TIMEOUTS): Promise<TestService> {
    return startTestService(t, { database: { kind: 'postgres', url }, databaseTimeouts })
  }

  async function assertStores(service: TestService): Promise<void> {
    const isStored = async () => (await service.create({ name: 'after', categoryId: 1 })).status === 201
    await waitUntil(isStored, { what: 'the service stores again' })
  }

  for (const target of ['read-write', 'standby'])
    test(`finds the writable server if a standby is listed before it, with target_session_attrs=${target}`, async t => {
      const [primary, standby] = pair()
      const service = await serviceOn(t, `${urlOf(standby, primary)}?target_session_attrs=${target}`)
      const creations = Array.from({ length: 20 }, () => service.create({ name: 'a', categoryId: 1 }))
      for (const { status } of await Promise.all(creations)) assert.equal(status, 201)
      assert.equal((await service.send('GET', '/readyz')).status, 200)
    })

  test('skips a host that refuses connections and a host that does not answer', async t => {
    const [primary] = pair()
    const refusing = { url: `postgres://127.0.0.1:${await freePort()}` }
    const silent = await startSilentServer(t, primary.url)
    const service = await serviceOn(t, urlOf(refusing, silent, primary), REQUEST_TIMEOUTS)
    await assertStores(service)
  })

  test('tries every host at the start even if one takes all the time and --database-wait is 0s', async t => {
    const [primary] = pair()
    const refusing = { url: `postgres://127.0.0.1:${await freePort()}` }
    const service = await startTestService(t, {
      database: { kind: 'postgres', url: urlOf(refusing, refusing, primary) },
      databaseTimeouts: { ...COMMAND_TIMEOUTS, allHostsMs: 0 },
      databaseWait: 0,
    })
    assert.equal((await service.create({ name: 'a', categoryId: 1 })).status, 201)
  })

  test('finds the new primary after the old one was stopped, while the service runs and while it starts', async t => {
    const [primary, standby] = await startPair(t)
    const services = [
      await serviceOn(t, urlOf(primary, standby)),
      await serviceOn(t, urlOf(standby, primary)),
    ]
    for (const service of services)
      assert.equal((await service.create({ name: 'before', categoryId: 1 })).status, 201)
    await primary.halt()
    for (const service of services)
      assert.equal((await service.create({ name: 'lost', categoryId: 1 })).status, 503)
    const starting = [standby.url, urlOf(primary, standby)].map(url =>
      start(t, ['serve', '--port', '0', '--database-wait', '1h'], {
        cwd: temporaryFolder(),
        env: { DATABASE_URL: url },
      }),
    )
    for (const { said } of starting) await said(/^Waiting up to 1h for PostgreSQL: .*\n/m)
    await administer('select pg_promote()', standby.url)
    for (const service of services) await assertStores(service)
    for (const { said } of starting) await said(/listening on/)
    assert.equal(await countRows("animals where name = 'before'", standby.url), 2)
  })

  test('finds the new primary after the old one hangs, although all connections lead to the old one', async t => {
    const [primary, standby] = await startPair(t)
    const options = { connections: 10, timeouts: { ...TIMEOUTS, statementMs: 1_000 }, warn: assert.fail }
    const pool = openPool(urlOf(primary, standby), options)
    t.after(() => pool.close())
    let opened = 0
    const useConnection = () =>
      pool.withClient(async () => {
        opened++
        await waitUntil(() => opened === options.connections, { what: 'all connections are open' })
      })
    await Promise.all(Array.from({ length: options.connections }, useConnection))
    primary.freeze()
    try {
      await administer('select pg_promote()', standby.url)
      let failures = 0
      const isWritable = () =>
        pool.checkWritable().then(
          () => true,
          () => {
            failures++
            return false
          },
        )
      await waitUntil(isWritable, { what: 'the new primary is found' })
      assert.ok(failures < options.connections / 2, `${failures} connections timed out`)
    } finally {
      primary.thaw()
    }
  })

  test('leaves a server that became read-only, and returns to it', async t => {
    const url = await borrowDatabase(t)
    const name = new URL(url).pathname.slice(1)
    const { host } = new URL(url)
    const service = await serviceOn(t, url.replace(host, `${host},${host}`))
    assert.equal((await service.create({ name: 'a', categoryId: 1 })).status, 201)
    await administer(`alter database ${name} set default_transaction_read_only = on`)
    t.after(() => administer(`alter database ${name} reset default_transaction_read_only`))
    await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`)
    await waitUntil(async () => (await service.send('GET', '/readyz')).status === 503, {
      what: 'it is not ready',
    })
    assert.equal((await service.create({ name: 'a', categoryId: 1 })).status, 503)
    await administer(`alter database ${name} reset default_transaction_read_only`)
    await assertStores(service)
    await untilReadiness(service, 200)
  })
})
