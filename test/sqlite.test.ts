// The store on SQLite: the contract, and what is specific to a database file.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { StatementSync } from 'node:sqlite'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import type { Animal } from '../src/animal.ts'
import { renderAnimal } from '../src/animal-json.ts'
import { toPageScan } from '../src/database/paging.ts'
import { MAX_WAL_BYTES } from '../src/database/sqlite/files.ts'
import { LATEST_SCHEMA } from '../src/database/sqlite/migrate.ts'
import { prepareStatements } from '../src/database/sqlite/statements.ts'
import { INT64_MAX, INT64_MIN } from '../src/int64.ts'
import type { Page } from '../src/page.ts'
import { checkExtremeIds, INSERT_EXTREME_IDS, int64Contract, storeContract } from './store.contract.ts'
import { createAnimals } from './support/animals.ts'
import { temporaryFolder } from './support/service.ts'
import {
  addAnimal,
  animalNames,
  countAnimals,
  openDatabase,
  openTestStore,
  queryValue,
  runSql,
} from './support/sqlite.ts'
import { waitUntil } from './support/wait.ts'

storeContract('SQLite, in a file', async (t, clock) => openTestStore(t, newPath(), { clock }))
storeContract('SQLite, in memory', async (t, clock) => openTestStore(t, ':memory:', { clock }))
int64Contract('SQLite', async t => {
  const path = newPath()
  return {
    store: openTestStore(t, path),
    insertAnimal: async id =>
      runSql(
        path,
        `insert into animals (id, name, category_id, status) values (${id}, 'by hand', 1, 'sold')`,
      ),
  }
})

function newPath(): string {
  return join(temporaryFolder(), 'a.db')
}

suite('a SQLite file', () => {
  test('is created with its folder, a write-ahead log and strict tables', async t => {
    const path = join(temporaryFolder(), 'new', 'folder', 'a.db')
    await addAnimal(openTestStore(t, path), 'a')
    assert.equal(queryValue(path, 'pragma journal_mode'), 'wal')
    assert.equal(queryValue(path, 'pragma user_version'), LATEST_SCHEMA)
    const tables = openDatabase(t, path)
      .prepare(
        "select name, strict from pragma_table_list where schema = 'main' and name not like 'sqlite_%'",
      )
      .all()
    assert.deepEqual(tables.map(({ name }) => name).sort(), [
      'animals',
      'api_keys',
      'idempotency_keys',
      'inventory',
    ])
    assert.ok(tables.every(({ strict }) => strict === 1))
  })

  test('is not created by a command that needs an existing one', t => {
    const path = newPath()
    assert.throws(() => openTestStore(t, path, { create: false }), /There is no database at/)
    assert.ok(!existsSync(path))
  })

  test('is created once if several processes open it at the same time', async () => {
    const path = newPath()
    const script = `import { openSqliteStore } from ${JSON.stringify(new URL('../src/database/sqlite/sqlite-store.ts', import.meta.url).href)}
      await openSqliteStore({ path: ${JSON.stringify(path)}, clock: Date.now, create: true }).close()`
    const exits = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
          stdio: ['ignore', 'ignore', 'inherit'],
        })
        return (await once(child, 'exit'))[0]
      }),
    )
    assert.deepEqual(exits, [0, 0, 0, 0, 0, 0])
  })

  for (const file of ['schema-3.db', 'schema-4.db', 'schema-7.db'])
    test(`that an earlier version made (${file}) is opened, with its animals, keys and idempotency keys`, async t => {
      const path = newPath()
      copyFileSync(new URL(`fixtures/${file}`, import.meta.url), path)
      const store = openTestStore(t, path, { create: false, clock: () => Date.parse('2026-11-17T13:00:00Z') })
      const bella: Animal = { id: 1n, name: 'Bella', categoryId: 7n, status: 'available' }
      assert.deepEqual(await store.listAnimals({ limit: 9 }), [
        bella,
        { id: 2n, name: 'Größe 🐈', categoryId: INT64_MAX },
        { id: 3n, name: ' spaces ', categoryId: INT64_MIN, status: 'sold' },
      ])
      assert.deepEqual(await store.countAnimals(), { available: 1n, pending: 0n, sold: 1n, none: 1n })
      const { json } = await store.listAnimalsAsJson({ limit: 9, nameContains: 'große' })
      assert.equal(JSON.parse(json)[0]?.name, 'Größe 🐈')
      const [key] = await store.listKeys('production')
      assert.equal(key?.name, 'kept')
      const idempotency = { scope: String(key?.id), key: 'first' }
      const [outcome] = await createAnimals(store, [{ animal: bella, idempotency }])
      assert.deepEqual(outcome, { kind: 'replayed', id: 1n, json: renderAnimal(bella) })
    })

  test('of more than 8 MiB with integers beyond 2^53 opens again', async t => {
    const path = newPath()
    const store = openTestStore(t, path)
    const animal = { name: 'x'.repeat(1_000), categoryId: INT64_MAX, status: 'sold' as const }
    const batch = Array.from({ length: 1_000 }, () => ({ animal }))
    for (let count = 0; count < 10; count++) await createAnimals(store, batch)
    await store.close()
    assert.ok(statSync(path).size > 8 * 1024 * 1024)
    assert.equal((await openTestStore(t, path).listAnimals({ limit: 1 }))[0]?.categoryId, INT64_MAX)
  })

  test('never assigns an id twice, even after another program deleted rows', async t => {
    const path = newPath()
    const store = openTestStore(t, path)
    await addAnimal(store, 'a')
    await addAnimal(store, 'b')
    runSql(path, 'delete from animals')
    await addAnimal(store, 'c')
    assert.deepEqual(
      (await store.listAnimals({ limit: 9 })).map(({ id }) => id),
      [3n],
    )
  })

  test('lists animals with the smallest and the largest int64 as id', async t => {
    const path = newPath()
    const store = openTestStore(t, path)
    runSql(path, INSERT_EXTREME_IDS)
    await checkExtremeIds(store)
  })

  test('finds every page through the primary key or an index', async t => {
    const path = newPath()
    await openTestStore(t, path).close()
    const database = openDatabase(t, path)
    const { listAnimals, page } = prepareStatements(database)
    const pageOf = (wanted: Page) => page(toPageScan(wanted))
    const plans = (statement: unknown) => {
      const { sourceSQL } = statement as StatementSync
      const details = database.prepare(`explain query plan ${sourceSQL}`).all(...valuesFor(sourceSQL))
      return new Set(
        details.map(({ detail }) => String(detail)).filter(detail => /animals|B-TREE/.test(detail)),
      )
    }
    assert.deepEqual(plans(listAnimals), new Set([BY_ID]))
    const sold = { status: 'sold' } as const
    for (const search of [{}, { nameContains: 'a' }]) {
      const forward = { limit: 20, ...search }
      assert.deepEqual(plans(pageOf(forward)), new Set([BY_ID, backwards(BY_ID)]))
      assert.deepEqual(plans(pageOf({ ...forward, ...sold })), new Set([BY_STATUS, backwards(BY_STATUS)]))
      // Only the animals of the page are sorted.
      const sort = 'USE TEMP B-TREE FOR json_group_array(ORDER BY)'
      const backward = { ...forward, before: 9n }
      assert.deepEqual(plans(pageOf(backward)), new Set([backwards(BY_ID), sort, BY_ID]))
      assert.deepEqual(
        plans(pageOf({ ...backward, ...sold })),
        new Set([backwards(BY_STATUS), sort, BY_STATUS]),
      )
    }
  })

  test('prepares one statement for all pages that differ only in their values', async t => {
    const path = newPath()
    await openTestStore(t, path).close()
    const { page } = prepareStatements(openDatabase(t, path))
    const pageOf = (wanted: Page) => page(toPageScan(wanted))
    assert.equal(pageOf({ limit: 1, after: 5n }), pageOf({ limit: 2 }))
    assert.equal(pageOf({ limit: 1, nameContains: 'a' }), pageOf({ limit: 1, categoryId: 7n }))
  })

  test('runs at most one search in an event-loop turn', async t => {
    const store = openTestStore(t, newPath())
    await addAnimal(store, 'a')
    let turn = 0
    const countTurns = () => {
      turn++
      timer = setImmediate(countTurns)
    }
    let timer = setImmediate(countTurns)
    const turns = await Promise.all(
      Array.from({ length: 10 }, async () => {
        await store.listAnimalsAsJson({ limit: 20, nameContains: 'a' })
        return turn
      }),
    )
    clearImmediate(timer)
    assert.equal(new Set(turns).size, turns.length, turns.join())
  })

  test('has its write-ahead log truncated once no reader needs it any more', async t => {
    const path = newPath()
    const walSize = () => statSync(`${path}-wal`).size
    const messages: string[] = []
    const add = (message: string) => void messages.push(message)
    const store = openTestStore(t, path, { log: { warn: add, error: add } })
    await addAnimal(store, 'a')
    const reader = openDatabase(t, path)
    reader.exec('begin; select * from animals')
    const creation = { animal: { name: 'x'.repeat(1_000), categoryId: 1n } }
    while (walSize() < MAX_WAL_BYTES) {
      await createAnimals(
        store,
        Array.from({ length: 1_000 }, () => creation),
      )
    }
    await addAnimal(store, 'b')
    assert.ok(walSize() >= MAX_WAL_BYTES)
    const problem = `${path}-wal grows and cannot be truncated: a reader has a long transaction.`
    await waitUntil(() => messages.length > 0, { what: 'the problem is reported' })
    assert.deepEqual(messages, [problem])
    reader.exec('commit')
    const isTruncated = async () => {
      await addAnimal(store, 'c')
      return walSize() < MAX_WAL_BYTES
    }
    await waitUntil(isTruncated, { what: 'the write-ahead log is truncated' })
    await waitUntil(() => messages.length > 1, { what: 'the end of the problem is reported' })
    assert.deepEqual(messages, [problem, `${path}-wal was truncated.`])
    assert.equal(JSON.parse((await store.findAnimalAsJson(2n)) ?? '').name, creation.animal.name)
  })
})

suite('reads from a SQLite file', () => {
  test('see what another process wrote just before', async t => {
    const path = newPath()
    const store = openTestStore(t, path)
    await addAnimal(store, 'a')
    runSql(path, `insert into animals (name, category_id) values ('from outside', ${INT64_MAX})`)
    assert.equal((await store.listAnimals({ limit: 9 }))[1]?.categoryId, INT64_MAX)
  })

  test('see one state within a turn of the event loop, and the newest state in the next', async t => {
    const path = newPath()
    const store = openTestStore(t, path)
    await addAnimal(store, 'a')
    const outside = openDatabase(t, path)
    await nextTurn()
    const before = animalNames(store)
    outside.exec("insert into animals (name, category_id) values ('b', 1)")
    assert.deepEqual(await before, ['a'])
    assert.deepEqual(await animalNames(store), ['a'])
    await nextTurn()
    assert.deepEqual(await animalNames(store), ['a', 'b'])
  })

  test('see a write of this process as soon as it is acknowledged, even in the same turn', async t => {
    const path = newPath()
    const store = openTestStore(t, path)
    await addAnimal(store, 'a')
    // The acknowledgement must arrive in the turn of the first read. The writer thread may be too slow for that, so
    // each round blocks this thread for longer than the last, until the acknowledgement arrives in that turn.
    for (let blockMs = 1; ; blockMs *= 2) {
      assert.ok(blockMs < 20_000, 'no write was acknowledged in the turn in which it began')
      const previous = await animalNames(store)
      // Timers run first in a turn.
      await delay(1)
      let isSameTurn = true
      setImmediate(() => {
        isSameTurn = false
      })
      const before = animalNames(store)
      const writing = addAnimal(store, `b${blockMs}`)
      blockUntilStored(path, previous.length + 1)
      blockFor(blockMs)
      await writing
      if (!isSameTurn) continue
      assert.deepEqual(await animalNames(store), [...previous, `b${blockMs}`])
      assert.deepEqual(await before, previous)
      return
    }
  })
})

/** Makes reads fail with this code of SQLite until it is restored. */
function failToBegin(t: TestContext, message: string, errcode: number) {
  const { run } = StatementSync.prototype
  return t.mock.method(StatementSync.prototype, 'run', function (this: StatementSync) {
    if (this.sourceSQL === 'begin') throw Object.assign(new Error(message), { errcode })
    return Reflect.apply(run, this, [])
  }).mock
}

// No other process can lock readers out on purpose: SQLite does it for moments, for example after a crash.
test('of all reads that wait for a lock, one tries again, and then all are answered', async t => {
  const store = openTestStore(t, newPath())
  await addAnimal(store, 'a')
  const locked = failToBegin(t, 'database is locked', 5)
  const reads = Array.from({ length: 100 }, () => animalNames(store))
  const attempts = locked.callCount()
  assert.ok(attempts < 5, `${attempts} attempts`)
  await waitUntil(() => locked.callCount() > attempts, { what: 'it is tried again' })
  locked.restore()
  assert.deepEqual([...new Set((await Promise.all(reads)).flat())], ['a'])
})

test('a read that fails for another reason is not repeated', async t => {
  const store = openTestStore(t, newPath())
  await addAnimal(store, 'a')
  const failing = failToBegin(t, 'disk I/O error', 10)
  await assert.rejects(animalNames(store), ({ cause }: Error) => String(cause).includes('disk I/O error'))
  assert.equal(failing.callCount(), 1)
  failing.restore()
  assert.deepEqual(await animalNames(store), ['a'])
})

function blockUntilStored(path: string, count: number): void {
  const deadline = performance.now() + 60_000
  while (countAnimals(path) !== count) assert.ok(performance.now() < deadline, 'the animal was not stored')
}

function blockFor(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

const BY_ID = 'SEARCH animals USING INTEGER PRIMARY KEY (rowid>?)'
const BY_STATUS = 'SEARCH animals USING COVERING INDEX animals_by_status (status=? AND id>?)'
const backwards = (plan: string) => plan.replace('>?', '<?')

/** A value for each parameter of a statement. */
function valuesFor(sql: string): number[] {
  const numbered = Math.max(...Array.from(sql.matchAll(/\?(\d)/g), ([, digit]) => Number(digit)), 0)
  return Array.from({ length: numbered || sql.split('?').length - 1 }, () => 1)
}
