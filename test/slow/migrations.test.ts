// The migration of a database that 1.0.0 wrote: with its animals, killed at any moment, by several processes at once, and while
// instances of 1.0.0 go on using it.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { AnimalChanges, NewAnimal } from '../../src/animal.ts'
import { renderAnimal } from '../../src/animal-json.ts'
import type { Store } from '../../src/store.ts'
import { createAnimals } from '../support/animals.ts'
import { run, start } from '../support/command.ts'
import { runInProcess } from '../support/in-process.ts'
import { assertInventory } from '../support/inventory.ts'
import { administer, countRows, newDatabase, openPostgres } from '../support/postgres.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'
import { lockForWriting, openTestStore, runSql } from '../support/sqlite.ts'
import { waitUntil } from '../support/wait.ts'

/** So many that the search names are filled in with several transactions. */
const ANIMALS = 25_000
const EXPECTED = { available: 5_000n, pending: 0n, sold: 5_000n, none: 15_000n }

const NUMBERS = {
  sqlite: `(with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${ANIMALS}) select n from numbers)`,
  postgres: `generate_series(1, ${ANIMALS}) as numbers (n)`,
}

/** What 1.0.0 sends to store animals. Every second name is not ASCII. */
const insertAnimals = (numbers: string) => `
  insert into animals (name, category_id, status)
  select case when n % 2 = 0 then 'Zoë ' else 'Bella ' end || n, n % 7,
    case n % 5 when 0 then 'sold' when 1 then 'available' end
  from ${numbers}`

/** The schema of 1.0.0. */
const SQLITE_SCHEMA_4 = `
  drop trigger animals_changed;
  drop trigger animals_removed;
  drop table inventory;
  drop index animals_by_status;
  alter table animals drop column search_name;
  create index animals_by_status on animals (status, id, name, category_id) where status is not null;
  pragma user_version = 4`
const POSTGRES_SCHEMA_4 = `
  drop function count_added_animals cascade;
  drop function count_changed_animals cascade;
  drop table inventory;
  alter table animals drop column search_name;
  update animal_store_schema set version = 4`

/** Follows the search for a folded name through its pages. */
async function countMatches(store: Store, nameContains: string): Promise<number> {
  let count = 0
  for (let after: bigint | undefined = 0n; after !== undefined; ) {
    const { json, next } = await store.listAnimalsAsJson({ limit: 100, after, nameContains })
    count += JSON.parse(json).length
    after = next
  }
  return count
}

async function assertMigrated(store: Store): Promise<void> {
  assert.deepEqual(await store.countAnimals(), EXPECTED)
  assert.equal(await countMatches(store, 'zoe 1'), 5_555)
  assert.deepEqual(await store.repairDerivedData(), { searchNames: 0, corrected: undefined })
}

suite('a SQLite file of 1.0.0', () => {
  async function createOld(t: TestContext): Promise<string> {
    const path = join(temporaryFolder(), 'a.db')
    await openTestStore(t, path).close()
    runSql(path, `${SQLITE_SCHEMA_4}; ${insertAnimals(NUMBERS.sqlite)}`)
    return path
  }

  const migrate = (t: TestContext, path: string) =>
    start(t, ['migrate', '--database-url', `sqlite:${path}`], { cwd: temporaryFolder() })

  test('is migrated when it is opened, and says so', async t => {
    const path = await createOld(t)
    const { code, err } = await migrate(t, path).ended
    assert.equal(code, 0, err)
    assert.match(err, /^Migrating .*a\.db to schema 9\. /m)
    await assertMigrated(openTestStore(t, path))
  })

  test('that is killed while it is migrated is migrated by the next start', async t => {
    const path = await createOld(t)
    let kills = 0
    for (let waitMs = 0; ; waitMs += 10) {
      const { child, said, ended } = migrate(t, path)
      const isDone = await Promise.race([
        ended.then(({ code }) => code === 0),
        said(/^Migrating/m).then(
          () => delay(waitMs, false),
          () => true,
        ),
      ])
      if (isDone) break
      child.kill('SIGKILL')
      await ended
      kills++
    }
    assert.ok(kills > 0, 'no migration was killed')
    t.diagnostic(`${kills} kills`)
    await assertMigrated(openTestStore(t, path))
  })

  test('is migrated once by processes that start at the same time', async t => {
    const path = await createOld(t)
    const ended = await Promise.all(Array.from({ length: 6 }, () => migrate(t, path).ended))
    for (const { code, err } of ended) assert.equal(code, 0, err)
    await assertMigrated(openTestStore(t, path))
  })

  test('is waited for while another process has locked it', async t => {
    const path = await createOld(t)
    const unlock = lockForWriting(t, path)
    const migrating = migrate(t, path)
    await migrating.said(/^Another process has locked .*a\.db, probably to migrate it\. Waiting for it\.$/m)
    // Longer than a start waits for other locks.
    assert.equal(
      await Promise.race([migrating.ended.then(() => 'ended'), delay(2_500, 'waiting')]),
      'waiting',
    )
    unlock()
    const { code, err } = await migrating.ended
    assert.equal(code, 0, err)
    await assertMigrated(openTestStore(t, path))
  })

  test('can be set back to the schema of 1.0.0, and migrated again', async t => {
    const path = await createOld(t)
    await openTestStore(t, path).close()
    runSql(path, 'drop table inventory; pragma user_version = 4')
    runSql(path, "insert into animals (name, category_id, status) values ('Zoë 1', 1, 'sold')")
    const store = openTestStore(t, path)
    assert.deepEqual(await store.countAnimals(), { ...EXPECTED, sold: 5_001n })
    assert.equal(await countMatches(store, 'zoe 1'), 5_556)
  })
})

suite('a PostgreSQL database of 1.0.0', () => {
  async function createOld(t: TestContext): Promise<string> {
    const url = await newDatabase(t)
    await (await openPostgres({ url })).close()
    await administer(`${POSTGRES_SCHEMA_4}; ${insertAnimals(NUMBERS.postgres)}`, url)
    return url
  }

  async function open(t: TestContext, url: string, warn?: (message: string) => void): Promise<Store> {
    const store = await openPostgres({ url, warn })
    t.after(() => store.close())
    return store
  }

  test('is migrated when it is opened', async t => {
    await assertMigrated(await open(t, await createOld(t)))
  })

  test('that is killed while it is migrated is migrated by the next start', async t => {
    const url = await createOld(t)
    const cwd = temporaryFolder()
    const unfilled = () => countRows("animals where search_name is null and name like 'Z%'", url)
    const { child, ended } = start(t, ['migrate', '--database-url', url], { cwd })
    const hasBegun = async () => (await unfilled().catch(() => ANIMALS)) < ANIMALS / 2
    await waitUntil(hasBegun, { what: 'some names are filled in' })
    child.kill('SIGKILL')
    await ended
    const { code, err } = await run(t, ['migrate', '--database-url', url], { cwd })
    assert.equal(code, 0, err)
    await assertMigrated(await open(t, url))
  })

  test('is migrated once by instances that start at the same time', async t => {
    const url = await createOld(t)
    const stores = await Promise.all(Array.from({ length: 3 }, () => open(t, url)))
    for (const store of stores) assert.deepEqual(await store.countAnimals(), EXPECTED)
    await assertMigrated(stores[0] as Store)
  })

  test('is read while its migration waits for a long transaction', async t => {
    const url = await createOld(t)
    const messages: string[] = []
    let end: (() => void) | undefined
    const transaction = administerUntil(url, 'begin; select from animals limit 1', () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      end = resolve
      return promise
    })
    await waitUntil(() => end !== undefined, { what: 'the transaction is open' })
    const opening = open(t, url, message => messages.push(message))
    await waitUntil(() => messages.length > 1, { what: 'the migration waits' })
    assert.match(messages[0] ?? '', /^Migrating the PostgreSQL database to schema 11\./)
    assert.match(messages[1] ?? '', /^Another transaction uses a table of this database\. Trying/)
    // A read waits no longer than the migration waits for the lock.
    assert.equal(await countRows('animals', url), ANIMALS)
    end?.()
    await transaction
    await assertMigrated(await opening)
    assert.equal(messages.length, 2)
  })

  test('counts and serves what instances of 1.0.0 store after its migration', async t => {
    const url = await createOld(t)
    const service = await startTestService(t, { database: { kind: 'postgres', url } })
    await administer(
      "insert into animals (name, category_id, status) values ('Zoë of 1.0.0', 1, 'sold')",
      url,
    )
    assert.deepEqual(await assertInventory(service), { ...EXPECTED, sold: 5_001n })
    const search = async () =>
      (await service.send('GET', '/v1/pets?name=zoe+of&after=24000')).json as object[]
    assert.equal((await search()).length, 0)
    const { code, err } = await runInProcess(['migrate'], { DATABASE_URL: url })
    assert.equal(code, 0)
    assert.match(err, /^Filled in 1 missing search name\.$/m)
    assert.equal((await search()).length, 1)
  })

  test('can be set back to the schema of 1.0.0, and migrated again', async t => {
    const url = await createOld(t)
    await (await openPostgres({ url })).close()
    await administer('update animal_store_schema set version = 4', url)
    await administer("insert into animals (name, category_id, status) values ('Zoë 1', 1, 'sold')", url)
    const store = await open(t, url)
    assert.deepEqual(await store.countAnimals(), { ...EXPECTED, sold: 5_001n })
    assert.equal(await countMatches(store, 'zoe 1'), 5_556)
  })

  test('is corrected after its animals were restored without the inventory', async t => {
    const url = await createOld(t)
    await (await openPostgres({ url })).close()
    // As tools do that restore data only.
    await administer('set session_replication_role = replica; truncate animals restart identity', url)
    await administer(insertAnimals(NUMBERS.postgres), url)
    const { err } = await runInProcess(['migrate'], { DATABASE_URL: url })
    assert.match(
      err,
      /^Corrected the inventory: available 10000 → 5000, sold 10000 → 5000, none 30000 → 15000\.$/m,
    )
    await assertMigrated(await open(t, url))
  })
})

/** What 1.1 does not have. */
const SCHEMA_7 = {
  sqlite: `
    drop trigger animals_changed;
    drop trigger animals_removed;
    alter table idempotency_keys drop column request;
    alter table idempotency_keys drop column answer;
    alter table idempotency_keys drop column answered_at;
    pragma user_version = 7`,
  postgres: `
    drop function count_changed_animals cascade;
    alter table idempotency_keys drop column request, drop column answer, drop column answered_at;
    alter table api_keys drop column access, drop column last_used;
    update animal_store_schema set version = 7`,
}

const NOW = Date.parse('2026-11-19T12:00:00Z')
const BELLA = { name: 'Bella "1"', categoryId: 7n, status: 'available' } as const

interface OldDatabase {
  run(sql: string): Promise<void>
  open(): Promise<Store>
}

for (const [name, kind, create] of [
  [
    'SQLite',
    'sqlite',
    async t => {
      const path = join(temporaryFolder(), 'a.db')
      return {
        run: async sql => runSql(path, sql),
        open: async () => openTestStore(t, path, { clock: () => NOW }),
      }
    },
  ],
  [
    'PostgreSQL',
    'postgres',
    async t => {
      const url = await newDatabase(t)
      return {
        run: sql => administer(sql, url),
        async open() {
          const store = await openPostgres({ url, clock: () => NOW })
          let isOpen = true
          const close = async () => {
            if (isOpen) await store.close()
            isOpen = false
          }
          t.after(close)
          return { ...store, close }
        },
      }
    },
  ],
] as [string, keyof typeof SCHEMA_7, (t: TestContext) => Promise<OldDatabase>][]) {
  suite(`what 1.1 has remembered on ${name}`, () => {
    const remember = (key: string, id: number, at = NOW) =>
      `insert into idempotency_keys (scope, key, animal_id, created_at) values ('s', '${key}', ${id}, ${at})`

    async function openOld(t: TestContext, sql: string) {
      const database = await create(t)
      await (await database.open()).close()
      await database.run(
        `${SCHEMA_7[kind]}; insert into animals (name, category_id, status) values ('Bella "1"', 7, 'available'); ${sql}`,
      )
      const store = await database.open()
      const retry = (key: string, animal: NewAnimal = BELLA) =>
        createAnimals(store, [{ animal, idempotency: { scope: 's', key } }]).then(([outcome]) => outcome)
      const change = (changes: AnimalChanges) =>
        store.write([{ kind: 'update', id: 1n, changes, conditions: {} }])
      const remove = () => store.write([{ kind: 'delete', id: 1n, conditions: {} }])
      return { database, store, retry, change, remove }
    }
    const replayed = { kind: 'replayed', id: 1n, json: renderAnimal({ id: 1n, ...BELLA }) }

    test('is replayed after the migration, whatever happens to the animal', async t => {
      const { retry, change, remove } = await openOld(t, remember('k', 1))
      assert.deepEqual(await retry('k'), replayed)
      await change({ status: 'sold' })
      assert.deepEqual(await retry('k'), replayed)
      assert.deepEqual(await retry('k', { ...BELLA, status: 'sold' }), { kind: 'key_reused' })
      await remove()
      assert.deepEqual(await retry('k'), replayed)
    })

    test('while it runs beside is compared with the animal as it is', async t => {
      const { database, retry, change, remove } = await openOld(t, 'select 1')
      await database.run(remember('k', 1))
      assert.deepEqual(await retry('k'), replayed)
      await change({ status: 'sold' })
      assert.deepEqual(await retry('k'), { kind: 'key_reused' })
      await remove()
      assert.deepEqual(await retry('k'), { kind: 'key_reused' })
    })

    test('under a key that it took over is not answered with what the key had before', async t => {
      const { database, store, retry } = await openOld(t, 'select 1')
      await database.run(`${remember('k', 99, 1)};
        update idempotency_keys set request = 'old', answer = '{"id":99}', answered_at = 1;
        update idempotency_keys set animal_id = 1, created_at = ${NOW} where key = 'k'`)
      assert.deepEqual(await retry('k'), replayed)
      assert.deepEqual(await retry('k', { name: 'other', categoryId: 1n }), { kind: 'key_reused' })
      assert.equal((await store.listAnimals({ limit: 9 })).length, 1)
    })

    test('counts stay right through what 1.1 and other programs do, before and after', async t => {
      const { database, store } = await openOld(t, 'select 1')
      await database.run(`
        insert into animals (name, category_id, status) values ('a', 1, 'sold'), ('b', 1, null);
        update animals set status = 'pending' where id = 1;
        update animals set name = 'c', status = 'sold' where name = 'b';
        delete from animals where name = 'a'`)
      assert.deepEqual(await store.countAnimals(), { available: 0n, pending: 1n, sold: 1n, none: 0n })
      assert.equal((await store.repairDerivedData()).corrected, undefined)
      await database.run('update animals set id = id + 1000')
      assert.deepEqual(await store.countAnimals(), { available: 0n, pending: 1n, sold: 1n, none: 0n })
      await createAnimals(store, [{ animal: BELLA }])
      // The snapshot of this transaction does not show the newest rows of the inventory.
      await database.run(
        kind === 'postgres'
          ? 'begin isolation level repeatable read; truncate animals; commit'
          : 'delete from animals',
      )
      assert.deepEqual(await store.countAnimals(), { available: 0n, pending: 0n, sold: 0n, none: 0n })
    })

    test('search names that another program has left outdated are found by migrate', async t => {
      const { database, store } = await openOld(t, 'select 1')
      const find = async (nameContains: string) =>
        (await store.listAnimalsAsJson({ limit: 5, nameContains })).json
      await database.run("update animals set name = 'Çelik', search_name = null")
      assert.deepEqual(await store.repairDerivedData(), { searchNames: 1, corrected: undefined })
      assert.notEqual(await find('celik'), '[]')
      await database.run("update animals set name = 'Rex'")
      assert.equal(await find('rex'), '[]')
      assert.deepEqual(await store.repairDerivedData(), { searchNames: 1, corrected: undefined })
      assert.notEqual(await find('rex'), '[]')
    })
  })
}

/** Runs SQL, and keeps the connection open until the work is done. */
async function administerUntil(url: string, sql: string, work: () => Promise<void>): Promise<void> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
    await work()
  } finally {
    await client.end()
  }
}
