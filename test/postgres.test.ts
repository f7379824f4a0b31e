// The store on PostgreSQL: the contract, the schema, statements, and several instances on one database.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { LATEST_SCHEMA } from '../src/database/postgres/migrate.ts'
import { openPool } from '../src/database/postgres/pool.ts'
import { COMMAND_TIMEOUTS } from '../src/database/postgres/timeouts.ts'
import { type Store, UnusableDatabase } from '../src/store.ts'
import { checkExtremeIds, INSERT_EXTREME_IDS, int64Contract, storeContract } from './store.contract.ts'
import { createAnimals } from './support/animals.ts'
import { skipTime } from './support/clock.ts'
import { run } from './support/command.ts'
import { runInProcess } from './support/in-process.ts'
import {
  administer,
  borrowDatabase,
  countRows,
  freePort,
  newDatabase,
  openPostgres,
} from './support/postgres.ts'
import { startTestService, type TestService, temporaryFolder } from './support/service.ts'

storeContract('PostgreSQL', async (t, clock) => {
  const store = await openPostgres({ url: await borrowDatabase(t), clock })
  t.after(() => store.close())
  return store
})

int64Contract('PostgreSQL', async t => {
  const url = await borrowDatabase(t)
  const store = await openPostgres({ url })
  t.after(() => store.close())
  return {
    store,
    insertAnimal: async id => {
      const values = `(${id}, 'by hand', 1, 'sold')`
      await administer(`insert into animals (id, name, category_id, status) values ${values}`, url)
      if (id > 0n) await administer(`select setval('animals_id_seq', ${id})`, url)
    },
  }
})

suite('the schema on PostgreSQL', () => {
  test('is created once by ten stores that open at the same time', async t => {
    const url = await newDatabase(t)
    const stores = await Promise.all(Array.from({ length: 10 }, () => openPostgres({ url })))
    t.after(() => Promise.all(stores.map(store => store.close())))
    const { rows } = await administer('select version from animal_store_schema', url)
    assert.deepEqual(rows, [{ version: LATEST_SCHEMA }])
    for (const store of stores) await createAnimals(store, [{ animal: { name: 'a', categoryId: 1n } }])
    assert.equal((await (stores[0] as Store).listAnimals({ limit: 100 })).length, 10)
  })

  test('is rejected if it is newer than this version, and is not changed', async t => {
    const url = await newDatabase(t)
    await (await openPostgres({ url })).close()
    await administer('update animal_store_schema set version = 99', url)
    await assert.rejects(openPostgres({ url }), (error: unknown) => {
      assert.ok(error instanceof UnusableDatabase)
      assert.match(error.message, new RegExp(`schema 99, newer than ${LATEST_SCHEMA}`))
      return true
    })
    const { rows } = await administer('select version from animal_store_schema', url)
    assert.deepEqual(rows, [{ version: 99 }])
  })

  test('is migrated from an older version, with its animals', async t => {
    const url = await newDatabase(t)
    const store = await openPostgres({ url })
    await createAnimals(store, [{ animal: { name: 'a', categoryId: 1n } }])
    await store.close()
    await administer(
      'drop table idempotency_keys; drop table api_keys; update animal_store_schema set version = 1',
      url,
    )
    const migrated = await openPostgres({ url })
    t.after(() => migrated.close())
    assert.equal((await migrated.listAnimals({ limit: 9 })).length, 1)
    assert.deepEqual(await migrated.listKeys('production'), [])
  })

  test('is not created in a database that has another table named animals, which is not changed', async t => {
    const url = await newDatabase(t)
    await administer('create table animals (x int)', url)
    await assert.rejects(openPostgres({ url }), /relation "animals" already exists/)
    const { rows } = await administer("select tablename from pg_tables where schemaname = 'public'", url)
    assert.deepEqual(rows, [{ tablename: 'animals' }])
  })

  test('is rejected if a table is missing', async t => {
    const url = await newDatabase(t)
    await (await openPostgres({ url })).close()
    await administer('alter table animals rename to animals_x', url)
    await assert.rejects(openPostgres({ url }), /does not have its tables/)
  })

  test('is rejected if the encoding of the database is not UTF-8', async t => {
    const url = await newDatabase(t)
    const name = `${new URL(url).pathname.slice(1)}_latin`
    await administer(
      `create database ${name} encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0`,
    )
    t.after(() => administer(`drop database ${name} with (force)`))
    await assert.rejects(openPostgres({ url: `${url}_latin` }), /must have the encoding UTF8/)
  })

  test('is created by `animal-store migrate`', async t => {
    const url = await newDatabase(t)
    const { code, err } = await run(t, ['migrate', '--database-url', url], { cwd: temporaryFolder() })
    assert.equal(code, 0, err)
    const { rows } = await administer('select version from animal_store_schema', url)
    assert.deepEqual(rows, [{ version: LATEST_SCHEMA }])
  })

  test('is not created by a command that only reads or changes what is there', async t => {
    const url = await newDatabase(t)
    for (const args of [['keys', 'list'], ['keys', 'revoke', 'key_1'], ['export']]) {
      const { code, err } = await runInProcess(args, { DATABASE_URL: url })
      assert.equal(code, 1)
      assert.match(err, /has no tables yet\. Start the service, or run animal-store migrate\.\n$/)
    }
    assert.equal(await countRows("pg_tables where schemaname = 'public'", url), 0)
  })

  test('lists animals with the smallest and the largest int64 as id', async t => {
    const url = await borrowDatabase(t)
    const store = await openPostgres({ url })
    t.after(() => store.close())
    await administer(INSERT_EXTREME_IDS, url)
    await checkExtremeIds(store)
  })
})

suite('an unusable PostgreSQL database ends the start with one line and exit code 1', () => {
  test('no server listens', async t => {
    const url = `postgres://user:HUNTER2@127.0.0.1:${await freePort()}/animals`
    const { code, err } = await run(t, ['serve', '--port', '0'], {
      cwd: temporaryFolder(),
      env: { DATABASE_URL: url, DATABASE_WAIT: '0s' },
    })
    assert.equal(code, 1)
    assert.match(err, /^The PostgreSQL database cannot be used: nothing listens at 127\.0\.0\.1:\d+\.\n$/)
    assert.doesNotMatch(err, /HUNTER2/)
  })

  test('the database does not exist', async t => {
    const url = (await newDatabase(t)).replace(/test_/, 'nothing_')
    const { code, err } = await run(t, ['keys', 'list', '--database-url', url], { cwd: temporaryFolder() })
    assert.equal(code, 1)
    assert.match(
      err,
      /^The PostgreSQL database cannot be used: database "nothing_\w+" does not exist\. Create it, /,
    )
  })

  test('the tables belong to another role', async t => {
    const url = await newDatabase(t)
    assert.equal((await runInProcess(['migrate'], { DATABASE_URL: url })).code, 0)
    const role = `stranger_${new URL(url).pathname.slice(1)}`
    await administer(`create role ${role} login password 'x'`, url)
    t.after(() => administer(`drop role ${role}`))
    const own = Object.assign(new URL(url), { username: role, password: 'x' })
    const { code, err } = await runInProcess(['keys', 'list'], { DATABASE_URL: own.href })
    assert.equal(code, 1)
    assert.match(
      err,
      /^The PostgreSQL database cannot be used: permission denied for table \w+\. Use the role that owns the tables/,
    )
  })
})

test('a transaction on PostgreSQL is rolled back if its work throws, and a later change is stored', async t => {
  const url = await newDatabase(t)
  await administer('create table numbers (n integer)', url)
  const pool = openPool(url, { connections: 1, timeouts: COMMAND_TIMEOUTS, warn: assert.fail })
  t.after(() => pool.close())
  const failed = pool.transact(async client => {
    await client.query('insert into numbers values (1)')
    throw new TypeError('x')
  })
  await assert.rejects(failed)
  await pool.query('insert into numbers values (2)')
  const { rows } = await administer('select n from numbers', url)
  assert.deepEqual(rows, [{ n: 2 }])
})

suite('several instances on one PostgreSQL', () => {
  test('create one first key together', async t => {
    const url = await borrowDatabase(t)
    const options = { database: { kind: 'postgres', url }, apiKey: undefined } as const
    const services = await Promise.all([1, 2, 3].map(() => startTestService(t, options)))
    assert.equal(services.filter(({ firstKey }) => firstKey !== undefined).length, 1)
  })

  test('create one animal for a hundred concurrent requests with one Idempotency-Key', async t => {
    const url = await borrowDatabase(t)
    const services = await Promise.all(
      [1, 2, 3].map(() => startTestService(t, { database: { kind: 'postgres', url } })),
    )
    const animal = { name: 'Bella', categoryId: 7 }
    const replies = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        (services[index % 3] as TestService).create(animal, { 'idempotency-key': 'k' }),
      ),
    )
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [201])
    assert.equal(new Set(replies.map(({ text }) => text)).size, 1)
    assert.equal(replies.filter(({ headers }) => headers['idempotent-replayed'] === undefined).length, 1)
    assert.equal(await countRows('animals', url), 1)
  })

  test('replay a creation whose animal another program has deleted', async t => {
    const url = await borrowDatabase(t)
    const service = await startTestService(t, { database: { kind: 'postgres', url } })
    const animal = { name: 'Bella', categoryId: 7 }
    assert.equal((await service.create(animal, { 'idempotency-key': 'k' })).status, 201)
    await administer('delete from animals', url)
    const again = await service.create(animal, { 'idempotency-key': 'k' })
    assert.deepEqual([again.status, again.headers['idempotent-replayed']], [201, 'true'])
    assert.equal(await countRows('animals', url), 0)
  })

  test('do not deadlock when they create the same idempotency keys in different orders', async t => {
    const url = await borrowDatabase(t)
    const stores = await Promise.all([1, 2, 3].map(() => openPostgres({ url })))
    t.after(() => Promise.all(stores.map(store => store.close())))
    const creations = Array.from({ length: 100 }, (_, index) => ({
      animal: { name: 'a', categoryId: 1n },
      idempotency: { scope: 's', key: String(index) },
    }))
    const outcomes = await Promise.all(
      stores.map((store, index) => createAnimals(store, index === 1 ? creations.toReversed() : creations)),
    )
    assert.equal(outcomes.flat().filter(({ kind }) => kind === 'created').length, 100)
    assert.equal(outcomes.flat().filter(({ kind }) => kind === 'replayed').length, 200)
  })

  test('list immediately what another instance has acknowledged', async t => {
    const url = await borrowDatabase(t)
    const [one, other] = await Promise.all(
      [1, 2].map(() => startTestService(t, { database: { kind: 'postgres', url } })),
    )
    for (let count = 1; count <= 20; count++) {
      const { json } = (await one?.create({ name: `a${count}`, categoryId: 1 })) ?? {}
      const { json: list } = (await other?.send('GET', '/v1/pets?limit=100')) ?? {}
      assert.deepEqual((list as object[]).at(-1), json)
    }
  })

  test('reject a key within 5 seconds after another instance has revoked it', async t => {
    const url = await borrowDatabase(t)
    const database = { kind: 'postgres', url } as const
    const first = await startTestService(t, { database, apiKey: undefined })
    const second = await startTestService(t, { database })
    const authorization = `Bearer ${first.firstKey}`
    const list = () => second.send('GET', '/v1/pets', { headers: { authorization } })
    assert.equal((await list()).status, 200)
    const [key] = await first.store.listKeys('production')
    await first.store.revokeKey(key?.id ?? '', 'production', new Date())
    skipTime(t, 5_000)
    assert.equal((await list()).status, 401)
  })
})
