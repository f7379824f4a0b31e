// The inventory: exact counts, whoever stores the animals.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { STATUSES } from '../src/animal.ts'
import { onEveryDatabase } from './support/databases.ts'
import { runInProcess } from './support/in-process.ts'
import { assertInventory } from './support/inventory.ts'
import { administer, borrowDatabase, newDatabase, openPostgres } from './support/postgres.ts'
import {
  type Scope,
  shared,
  startTestService,
  type TestService,
  temporaryFolder,
  untilReadiness,
} from './support/service.ts'
import { runSql } from './support/sqlite.ts'

const EMPTY = '{"available":0,"pending":0,"sold":0,"none":0}'

/** Creates animals, several at the same time. Every third creation is repeated with its idempotency key. */
async function createMany({ create }: TestService, prefix: string, count: number): Promise<void> {
  const statuses = [...STATUSES, undefined]
  const indexes = Array.from({ length: count }, (_, index) => index).values()
  await Promise.all(
    // So few at a time that the database of a slow machine answers in time.
    Array.from({ length: 8 }, async () => {
      for (const index of indexes) {
        const animal = { name: `${prefix} ${index}`, categoryId: 1, status: statuses[index % 4] }
        const headers: Record<string, string> =
          index % 3 === 0 ? { 'idempotency-key': `${prefix}-${index}` } : {}
        assert.equal((await create(animal, headers)).status, 201)
        if (index % 3 === 0) assert.equal((await create(animal, headers)).status, 201)
      }
    }),
  )
}

onEveryDatabase('GET /v1/store/inventory', startTestService => {
  test('counts the animals by status, and those without one', async t => {
    const service = await startTestService(t)
    assert.equal((await service.send('GET', '/v1/store/inventory')).text, EMPTY)
    for (const status of ['sold', 'sold', 'available', undefined])
      await service.create({ name: 'Bella', categoryId: 7, status })
    const { text } = await service.send('GET', '/v1/store/inventory')
    assert.equal(text, '{"available":1,"pending":0,"sold":2,"none":1}')
  })

  test('equals a walk through the list after concurrent creations, with and without idempotency keys', async t => {
    const service = await startTestService(t)
    const answers: bigint[] = []
    let isDone = false
    const asking = (async () => {
      while (!isDone) {
        const { json } = await service.send('GET', '/v1/store/inventory')
        answers.push(Object.values(json as Record<string, bigint>).reduce((sum, count) => sum + count, 0n))
      }
    })()
    await createMany(service, 'a', 200)
    isDone = true
    await asking
    assert.deepEqual(
      answers,
      answers.toSorted((one, other) => Number(one - other)),
    )
    assert.deepEqual(await assertInventory(service), { available: 50n, pending: 50n, sold: 50n, none: 50n })
  })
})

suite('GET /v1/store/inventory', () => {
  const service = shared(startTestService)

  test('ignores a query, and answers HEAD like GET', async () => {
    assert.equal((await service().send('GET', '/v1/store/inventory?status=x&%')).text, EMPTY)
    const head = await service().send('HEAD', '/v1/store/inventory')
    assert.deepEqual(
      [head.status, head.text, head.headers['content-length']],
      [200, '', String(EMPTY.length)],
    )
  })

  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
    test(`rejects ${method} with 405`, async () => {
      const { status, headers } = await service().send(method, '/v1/store/inventory')
      assert.deepEqual([status, headers.allow], [405, 'GET, HEAD'])
    })

  for (const path of ['', '/', '/orders', '/order', '/inventory/', '/Inventory', '/inventory/1'])
    test(`is at no other path: /v1/store${path} is 404`, async () => {
      assert.equal((await service().send('GET', `/v1/store${path}`)).status, 404)
    })

  test('needs a key, like every operation', async () => {
    const { status } = await service().send('GET', '/v1/store/inventory', { headers: { authorization: '' } })
    assert.equal(status, 401)
  })
})

interface Shared {
  /** The settings of another instance on the same database. */
  readonly database: { kind: 'sqlite'; path: string } | { kind: 'postgres'; url: string }
  readonly runSql: (sql: string) => unknown
}

const DATABASES: Record<string, (t: Scope) => Promise<Shared>> = {
  SQLite: async () => {
    const path = join(temporaryFolder(), 'a.db')
    return { database: { kind: 'sqlite', path }, runSql: sql => runSql(path, sql) }
  },
  PostgreSQL: async t => {
    const url = await borrowDatabase(t)
    return { database: { kind: 'postgres', url }, runSql: sql => administer(sql, url) }
  },
}

for (const [name, open] of Object.entries(DATABASES)) {
  suite(`the inventory of a database that others use, on ${name}`, () => {
    const urlOf = ({ database }: Shared) =>
      database.kind === 'sqlite' ? `sqlite:${database.path}` : database.url

    test('counts what two instances store at the same time', async t => {
      const { database } = await open(t)
      const instances = [await startTestService(t, { database }), await startTestService(t, { database })]
      await Promise.all(instances.map((instance, index) => createMany(instance, String(index), 100)))
      for (const instance of instances)
        assert.deepEqual(await assertInventory(instance), {
          available: 50n,
          pending: 50n,
          sold: 50n,
          none: 50n,
        })
    })

    test('counts what another program stores, at once and after the next creation', async t => {
      const { database, runSql } = await open(t)
      const service = await startTestService(t, { database })
      await createMany(service, 'a', 8)
      await runSql("insert into animals (name, category_id, status) values ('b', 1, 'sold'), ('c', 1, null)")
      assert.deepEqual(await assertInventory(service), { available: 2n, pending: 2n, sold: 3n, none: 3n })
      await createMany(service, 'd', 4)
      assert.deepEqual(await assertInventory(service), { available: 3n, pending: 3n, sold: 4n, none: 4n })
    })

    test('is corrected by `animal-store migrate`, which says so, while the service goes on', async t => {
      const used = await open(t)
      const service = await startTestService(t, { database: used.database })
      await createMany(service, 'a', 8)
      // As after a restore of the animals into a database that has counted them already.
      await used.runSql('update inventory set sold = sold + 5, none = none + 1 where sold > 0')
      const migrate = () => runInProcess(['migrate'], { DATABASE_URL: urlOf(used) })
      const { code, err } = await migrate()
      assert.equal(code, 0)
      // On PostgreSQL, the animals are counted in one row or in several.
      assert.match(err, /^Corrected the inventory: sold \d+ → 2, none \d+ → 2\.$/m)
      assert.deepEqual(await assertInventory(service), { available: 2n, pending: 2n, sold: 2n, none: 2n })
      assert.doesNotMatch((await migrate()).err, /Corrected/)
    })

    test('and its searches find a name that another program stored once `animal-store migrate` has run', async t => {
      const used = await open(t)
      const service = await startTestService(t, { database: used.database })
      await service.create({ name: 'Zoë', categoryId: 1 })
      await used.runSql("insert into animals (name, category_id) values ('zoë', 1), ('ZOE', 1)")
      const search = async () => ((await service.send('GET', '/v1/pets?name=zoe')).json as object[]).length
      assert.equal(await search(), 2)
      const { code, err } = await runInProcess(['migrate'], { DATABASE_URL: urlOf(used) })
      assert.equal(code, 0)
      assert.match(err, /^Filled in 1 missing search name\.$/m)
      assert.equal(await search(), 3)
      assert.doesNotMatch((await runInProcess(['migrate'], { DATABASE_URL: urlOf(used) })).err, /Filled in/)
    })

    test('is needed by /readyz, and so is the column for searches', async t => {
      const { database, runSql } = await open(t)
      const service = await startTestService(t, { database })
      for (const [away, back] of [
        ['alter table inventory rename to moved', 'alter table moved rename to inventory'],
        [
          'alter table inventory rename column sold to moved',
          'alter table inventory rename column moved to sold',
        ],
        [
          'alter table animals rename column search_name to moved',
          'alter table animals rename column moved to search_name',
        ],
      ] as const) {
        await runSql(away)
        await untilReadiness(service, 503)
        await runSql(back)
        await untilReadiness(service, 200)
      }
    })
  })
}

test('the inventory on SQLite is unavailable without its row, which `animal-store migrate` restores', async t => {
  const path = join(temporaryFolder(), 'a.db')
  const service = await startTestService(t, { database: { kind: 'sqlite', path } })
  await createMany(service, 'a', 8)
  runSql(path, 'delete from inventory')
  assert.equal((await service.send('GET', '/v1/store/inventory')).status, 503)
  const { code, err } = await runInProcess(['migrate'], { DATABASE_URL: `sqlite:${path}` })
  assert.equal(code, 0)
  assert.match(err, /^Corrected the inventory: available 0 → 2/m)
  assert.deepEqual(await assertInventory(service), { available: 2n, pending: 2n, sold: 2n, none: 2n })
})

suite('the inventory on PostgreSQL', () => {
  test('counts what a role stores that was granted no right on it', async t => {
    const url = await borrowDatabase(t)
    const service = await startTestService(t, { database: { kind: 'postgres', url } })
    const role = `test_role_${Date.now()}_${process.pid}`
    await administer(`create role ${role}; grant insert on animals to ${role}`, url)
    t.after(() => administer(`drop owned by ${role}; drop role ${role}`, url))
    await administer(`set role ${role}; insert into animals (name, category_id) values ('a', 1)`, url)
    assert.deepEqual(await assertInventory(service), { available: 0n, pending: 0n, sold: 0n, none: 1n })
  })

  test('stays short, however many creations there are', async t => {
    const url = await borrowDatabase(t)
    const service = await startTestService(t, { database: { kind: 'postgres', url } })
    // Each in a transaction of its own. Without merges, there would be as many rows.
    await administer(
      `do $$ begin for i in 1..2000 loop
         insert into animals (name, category_id, status) values ('a', 1, 'sold'); commit;
       end loop; end $$`,
      url,
    )
    const { rows } = await administer('select count(*)::int as count from inventory', url)
    assert.ok(rows[0].count < 1_500, `${rows[0].count} rows`)
    assert.deepEqual(await assertInventory(service), { available: 0n, pending: 0n, sold: 2_000n, none: 0n })
  })

  test('counts what transactions of other isolation levels store at the same time', async t => {
    const url = await borrowDatabase(t)
    const service = await startTestService(t, { database: { kind: 'postgres', url } })
    const levels = ['read committed', 'repeatable read', 'serializable']
    await Promise.all(
      Array.from({ length: 9 }, (_, index) => {
        const level = `-c default_transaction_isolation=${levels[index % 3]?.replace(' ', '\\ ')}`
        const script = `do $$ begin for i in 1..100 loop
          insert into animals (name, category_id, status) values ('a', 1, 'sold'); commit;
        end loop; end $$`
        return administer(
          script,
          `${url}?${new URLSearchParams({ options: level }).toString().replaceAll('+', '%20')}`,
        )
      }),
    )
    assert.deepEqual(await assertInventory(service), { available: 0n, pending: 0n, sold: 900n, none: 0n })
  })

  test('is not created over a table of another program', async t => {
    const url = await newDatabase(t)
    await (await openPostgres({ url })).close()
    await administer(
      `drop trigger animals_inventory on animals; drop table inventory; create table inventory (sku text);
       update animal_store_schema set version = 4`,
      url,
    )
    await assert.rejects(openPostgres({ url }), /column .* does not exist/)
    await administer("insert into animals (name, category_id) values ('of 1.0.0', 1)", url)
  })

  test('is counted when it is asked for, at most every ten seconds, if there is no trigger', async t => {
    const url = await borrowDatabase(t)
    const service = await startTestService(t, { database: { kind: 'postgres', url } })
    await administer('alter table animals disable trigger animals_inventory', url)
    t.after(() => administer('alter table animals enable trigger animals_inventory', url))
    let now = performance.now()
    t.mock.method(performance, 'now', () => now)
    await createMany(service, 'a', 4)
    assert.deepEqual(await assertInventory(service), { available: 1n, pending: 1n, sold: 1n, none: 1n })
    await createMany(service, 'b', 4)
    const { text } = await service.send('GET', '/v1/store/inventory')
    assert.equal(text, '{"available":1,"pending":1,"sold":1,"none":1}')
    now += 10_001
    assert.deepEqual(await assertInventory(service), { available: 2n, pending: 2n, sold: 2n, none: 2n })
    assert.equal(
      service.logText().match(/a trigger whose name begins with animals_inventory is missing/g)?.length,
      1,
    )
    // Nothing is added to an inventory that nobody keeps.
    assert.doesNotMatch((await runInProcess(['migrate'], { DATABASE_URL: url })).err, /Corrected/)
  })
})
