import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { systemClock } from '../src/clock.ts'
import { MAX_WAL_BYTES } from '../src/database/sqlite/checkpoint.ts'
import { LATEST_SCHEMA } from '../src/database/sqlite/migrate.ts'
import { prepareStatements, type Statements } from '../src/database/sqlite/statements.ts'
import { openSqliteStore } from '../src/database/sqlite/store.ts'
import { ServiceError } from '../src/error.ts'
import { type Store, UnusableDatabase } from '../src/store.ts'
import { storeContract } from './store.contract.ts'
import { temporaryFolder } from './support/service.ts'

function openStore(t: TestContext, path: string, create = true, clock = systemClock): Store {
  const store = openSqliteStore({ path, clock, create })
  t.after(() => store.close())
  return store
}

function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'unavailable'
}

async function add(store: Store, name: string): Promise<void> {
  await store.createAnimals([{ animal: { name, categoryId: 1n, status: 'sold' } }])
}

async function names(store: Store): Promise<string[]> {
  return (await store.listAnimals({ limit: 1_000 })).map(({ name }) => name)
}

storeContract('SQLite, in a file', async (t, clock) =>
  openStore(t, join(temporaryFolder(t), 'a.db'), true, clock),
)
storeContract('SQLite, in memory', async (t, clock) => openStore(t, ':memory:', true, clock))

suite('a SQLite file', () => {
  test('is made with its folder, durable and strict', async t => {
    const path = join(temporaryFolder(t), 'new', 'folder', 'a.db')
    const store = openStore(t, path)
    await add(store, 'a')
    const database = new DatabaseSync(path)
    t.after(() => database.close())
    assert.equal(database.prepare('pragma journal_mode').get()?.journal_mode, 'wal')
    assert.equal(database.prepare('pragma user_version').get()?.user_version, LATEST_SCHEMA)
    const tables = database
      .prepare(
        "select name, strict from pragma_table_list where schema = 'main' and name not like 'sqlite_%'",
      )
      .all()
    assert.deepEqual(tables.map(({ name }) => name).sort(), ['animals', 'api_keys', 'idempotency_keys'])
    assert.ok(tables.every(({ strict }) => strict === 1))
  })

  function plansOf(path: string, ...names: (keyof Statements)[]): string[] {
    const database = new DatabaseSync(path)
    try {
      const statements = prepareStatements(database)
      return names.flatMap(name =>
        database
          .prepare(`explain query plan ${(statements[name] as unknown as StatementSync).sourceSQL}`)
          .all(...[1, 1, 1].slice(0, name.endsWith('ByStatus') ? 3 : 2))
          .map(({ detail }) => String(detail))
          .filter(detail => /animals|B-TREE/.test(detail)),
      )
    } finally {
      database.close()
    }
  }

  const BY_ID = 'SEARCH animals USING INTEGER PRIMARY KEY (rowid>?)'
  const BY_STATUS = 'SEARCH animals USING COVERING INDEX animals_by_status (status=? AND id>?)'

  test('serves every page in one walk along the table or an index, without a sort', async t => {
    const path = join(temporaryFolder(t), 'a.db')
    await openStore(t, path).close()
    assert.deepEqual(plansOf(path, 'listAnimals', 'listAnimalsAsJson'), [BY_ID, BY_ID, BY_ID])
    assert.deepEqual(plansOf(path, 'listAnimalsByStatus', 'listAnimalsAsJsonByStatus'), [
      BY_STATUS,
      BY_STATUS,
      BY_STATUS,
    ])
  })

  test('is not made where it must exist', t => {
    const path = join(temporaryFolder(t), 'a.db')
    assert.throws(() => openStore(t, path, false), /There is no database at/)
    assert.ok(!existsSync(path))
  })

  test('never gives an id twice, even after rows were removed by hand', async t => {
    const path = join(temporaryFolder(t), 'a.db')
    const store = openStore(t, path)
    await add(store, 'a')
    await add(store, 'b')
    const database = new DatabaseSync(path)
    database.exec('delete from animals')
    database.close()
    await add(store, 'c')
    assert.deepEqual(
      (await store.listAnimals({ limit: 9 })).map(({ id }) => id),
      [3n],
    )
  })

  test('shows what another process wrote in the very next answer', async t => {
    const path = join(temporaryFolder(t), 'a.db')
    const store = openStore(t, path)
    await add(store, 'a')
    const database = new DatabaseSync(path)
    database.exec("insert into animals (name, category_id) values ('by hand', 9223372036854775807)")
    database.close()
    assert.equal((await store.listAnimals({ limit: 9 }))[1]?.categoryId, 9223372036854775807n)
  })

  test('of an older schema is brought forward, and its animals are kept', async t => {
    const path = join(temporaryFolder(t), 'a.db')
    const store = openStore(t, path)
    await add(store, 'a')
    await store.close()
    const database = new DatabaseSync(path)
    database.exec(`
      drop table idempotency_keys;
      drop table api_keys;
      drop index animals_by_status;
      create index animals_by_status on animals (status) where status is not null;
      pragma user_version = 1`)
    database.close()
    const again = openSqliteStore({ path, clock: systemClock, create: false })
    t.after(() => again.close())
    assert.deepEqual(await names(again), ['a'])
    assert.deepEqual(await again.listKeys('production'), [])
    assert.deepEqual(plansOf(path, 'listAnimalsByStatus'), [BY_STATUS])
  })

  test('that is large and has integers beyond 2^53 opens again', async t => {
    const path = join(temporaryFolder(t), 'a.db')
    const store = openStore(t, path)
    const animal = { name: 'x'.repeat(1_000), categoryId: 9223372036854775807n, status: 'sold' as const }
    await store.createAnimals(Array.from({ length: 10_000 }, () => ({ animal })))
    await store.close()
    assert.ok(readFileSync(path).length > 8 * 1024 * 1024)
    assert.equal((await openStore(t, path).listAnimals({ limit: 1 }))[0]?.categoryId, 9223372036854775807n)
  })

  test('is read as it is at one moment in a turn of the event loop, and as it is later in the next', async t => {
    const path = join(temporaryFolder(t), 'a.db')
    const store = openStore(t, path)
    await add(store, 'a')
    const byHand = new DatabaseSync(path)
    t.after(() => byHand.close())
    await nextTurn()
    const before = names(store)
    byHand.exec("insert into animals (name, category_id) values ('b', 1)")
    assert.deepEqual(await before, ['a'])
    assert.deepEqual(await names(store), ['a'])
    await nextTurn()
    assert.deepEqual(await names(store), ['a', 'b'])
  })

  test('is read anew as soon as a write of its own has been acknowledged', async t => {
    const path = join(temporaryFolder(t), 'a.db')
    const store = openStore(t, path)
    await add(store, 'a')
    const other = new DatabaseSync(path)
    t.after(() => other.close())
    const count = other.prepare('select count(*) as count from animals')
    // Timers come first in a turn: what is read here opens it, and the answer of the writing thread comes later in it.
    await delay(1)
    const before = names(store)
    const writing = add(store, 'b')
    const deadline = performance.now() + 10_000
    while (count.get()?.count === 1 && performance.now() < deadline);
    // Stored, and in a moment the thread has said so.
    const said = performance.now() + 200
    while (performance.now() < said);
    await writing
    assert.deepEqual(await names(store), ['a', 'b'])
    assert.deepEqual(await before, ['a'])
  })

  test('has a log that is shortened once nobody reads from it any more', async t => {
    const path = join(temporaryFolder(t), 'a.db')
    const store = openStore(t, path)
    await add(store, 'a')
    const reader = new DatabaseSync(path)
    t.after(() => reader.close())
    reader.exec('begin; select * from animals')
    const creation = { animal: { name: 'x'.repeat(1_000), categoryId: 1n } }
    while (statSync(`${path}-wal`).size < MAX_WAL_BYTES) {
      await store.createAnimals(Array.from({ length: 1_000 }, () => creation))
    }
    await add(store, 'b')
    assert.ok(statSync(`${path}-wal`).size >= MAX_WAL_BYTES)
    reader.exec('commit')
    const deadline = performance.now() + 20_000
    while (statSync(`${path}-wal`).size >= MAX_WAL_BYTES && performance.now() < deadline) {
      await add(store, 'c')
      await delay(20)
    }
    assert.ok(statSync(`${path}-wal`).size < MAX_WAL_BYTES)
    assert.equal(JSON.parse((await store.findAnimalAsJson(2n)) ?? '').name, creation.animal.name)
  })

  test('opened by several at once on the first run is made once', async t => {
    const path = join(temporaryFolder(t), 'a.db')
    const script = `import { openSqliteStore } from ${JSON.stringify(new URL('../src/database/sqlite/store.ts', import.meta.url).href)}
      await openSqliteStore({ path: ${JSON.stringify(path)}, clock: Date.now, create: true }).close()`
    const exits = await Promise.all(
      Array.from({ length: 6 }, () => {
        const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
          stdio: ['ignore', 'ignore', 'inherit'],
        })
        return new Promise(resolve => child.on('exit', resolve))
      }),
    )
    assert.deepEqual(exits, [0, 0, 0, 0, 0, 0])
  })
})

suite('a SQLite file that cannot be used is refused in one line and left as it was', () => {
  async function makeDatabase(path: string, animals: number): Promise<void> {
    const store = openSqliteStore({ path, clock: systemClock, create: true })
    await store.createAnimals(
      Array.from({ length: animals }, (_, index) => ({
        animal: { name: `${'x'.repeat(200)} ${index}`, categoryId: BigInt(index), status: 'sold' as const },
      })),
    )
    await store.close()
  }

  const rows: [string, RegExp, (path: string) => Promise<void> | void][] = [
    [
      'not a database',
      /file is not a database/,
      path => writeFileSync(path, 'This is a letter to my aunt.\n'.repeat(100)),
    ],
    ['a short text', /file is not a database/, path => writeFileSync(path, 'hello')],
    ['a folder', /is not a file/, path => void mkdirSync(path)],
    [
      'read-only',
      /is read-only/,
      async path => {
        await makeDatabase(path, 1)
        chmodSync(path, 0o444)
      },
    ],
    [
      'of a newer schema',
      new RegExp(`has schema 99, newer than ${LATEST_SCHEMA}`),
      async path => {
        await makeDatabase(path, 1)
        const database = new DatabaseSync(path)
        database.exec('pragma user_version = 99')
        database.close()
      },
    ],
    [
      "another program's",
      /belongs to another program/,
      path => {
        const database = new DatabaseSync(path)
        database.exec('create table songs (title text)')
        database.close()
      },
    ],
    [
      'with a damaged page',
      /is corrupt/,
      async path => {
        await makeDatabase(path, 1_000)
        const bytes = readFileSync(path)
        bytes.fill(0xa5, 8 * 4096, 12 * 4096)
        writeFileSync(path, bytes)
      },
    ],
    [
      'cut short',
      /is corrupt|malformed/,
      async path => {
        await makeDatabase(path, 1_000)
        writeFileSync(path, readFileSync(path).subarray(0, 10 * 4096))
      },
    ],
    [
      'large, with a damaged page in the middle',
      /is corrupt/,
      async path => {
        await makeDatabase(path, 50_000)
        const bytes = readFileSync(path)
        const middle = Math.floor(bytes.length / 2 / 4096) * 4096
        bytes.fill(0xa5, middle, middle + 3 * 4096)
        writeFileSync(path, bytes)
      },
    ],
    [
      'large, with a damaged end',
      /is corrupt/,
      async path => {
        await makeDatabase(path, 50_000)
        const bytes = readFileSync(path)
        assert.ok(bytes.length > 8 * 1024 * 1024)
        bytes.fill(0xa5, bytes.length - 1024 * 1024)
        writeFileSync(path, bytes)
      },
    ],
  ]
  for (const [what, reason, prepare] of rows) {
    test(what, async t => {
      const path = join(temporaryFolder(t), 'a.db')
      await prepare(path)
      const before = what === 'a folder' ? undefined : readFileSync(path)
      assert.throws(
        () => openStore(t, path),
        (error: unknown) => {
          assert.ok(error instanceof UnusableDatabase)
          assert.match(error.message, reason)
          assert.ok(!error.message.includes('\n'))
          assert.ok(error.message.includes(path))
          return true
        },
      )
      if (before) assert.ok(before.equals(readFileSync(path)))
    })
  }

  const strange: [string, RegExp, string][] = [
    ['empty, but of a schema', /belongs to another program/, 'pragma user_version = 7'],
    ['empty, but of another program', /belongs to another program/, 'pragma application_id = 42'],
    [
      'without a table',
      new RegExp(`has schema ${LATEST_SCHEMA}, but does not have its tables`),
      'drop table idempotency_keys',
    ],
    ['with a table too many', /does not have its tables/, 'create table songs (title text)'],
    ['of a schema it is not', /has schema 1, but does not have its tables/, 'pragma user_version = 1'],
    ['of no schema', /has schema 0, but does not have its tables/, 'pragma user_version = 0'],
    ['of a negative schema', /has schema -5/, 'pragma user_version = -5'],
  ]
  for (const [what, reason, sql] of strange) {
    test(what, async t => {
      const path = join(temporaryFolder(t), 'a.db')
      if (!what.startsWith('empty')) await makeDatabase(path, 1)
      const database = new DatabaseSync(path)
      database.exec(sql)
      database.close()
      const before = readFileSync(path)
      assert.throws(() => openStore(t, path), reason)
      assert.ok(before.equals(readFileSync(path)))
    })
  }

  test('with the log of a crash beside it, which is left as it was too', async t => {
    const folder = temporaryFolder(t)
    const path = join(folder, 'a.db')
    const store = openStore(t, path)
    await add(store, 'a')
    const other = new DatabaseSync(path)
    other.exec('pragma user_version = 99')
    const crashed = join(folder, 'crashed.db')
    for (const suffix of ['', '-wal']) copyFileSync(path + suffix, crashed + suffix)
    other.close()
    const before = [readFileSync(crashed), readFileSync(`${crashed}-wal`)]
    assert.throws(() => openStore(t, crashed), /has schema 99/)
    assert.deepEqual([readFileSync(crashed), readFileSync(`${crashed}-wal`)], before)
  })

  test('a folder that cannot be made', t => {
    const folder = temporaryFolder(t)
    writeFileSync(join(folder, 'file'), '')
    assert.throws(() => openStore(t, join(folder, 'file', 'a.db')), UnusableDatabase)
  })
})

suite('a SQLite file that goes wrong while it is in use', () => {
  test('taken away: unavailable, nothing is written elsewhere, and it works when it is back', async t => {
    const folder = temporaryFolder(t)
    const path = join(folder, 'a.db')
    const store = openStore(t, path)
    await add(store, 'a')
    renameSync(path, join(folder, 'elsewhere.db'))
    await assert.rejects(add(store, 'lost?'), isUnavailable)
    await assert.rejects(store.listAnimals({ limit: 1 }), isUnavailable)
    await assert.rejects(store.ping(), isUnavailable)
    assert.ok(!existsSync(path))
    renameSync(join(folder, 'elsewhere.db'), path)
    await store.ping()
    await add(store, 'b')
    assert.deepEqual(await names(store), ['a', 'b'])
  })

  const restores: [string, (folder: string) => void][] = [
    ['moved away, the backup copied', folder => renameSync(join(folder, 'a.db'), join(folder, 'old.db'))],
    ['overwritten by the backup', () => {}],
  ]
  for (const [how, prepare] of restores) {
    test(`${how}: unavailable while the old log is there, and then the backup is served, whole`, async t => {
      const folder = temporaryFolder(t)
      const path = join(folder, 'a.db')
      const backup = openSqliteStore({ path: join(folder, 'backup.db'), clock: systemClock, create: true })
      await add(backup, 'from the backup')
      await backup.close()
      const store = openStore(t, path)
      // More than SQLite's log takes before it is written back, so that both file and log have pages of their own.
      for (let batch = 0; batch < 5; batch++) {
        const animals = Array.from({ length: 1_000 }, () => ({
          animal: { name: 'x'.repeat(900), categoryId: 1n },
        }))
        await store.createAnimals(animals)
      }
      await add(store, 'last')
      prepare(folder)
      renameSync(join(folder, 'backup.db'), path)
      await assert.rejects(store.listAnimals({ limit: 1 }), isUnavailable)
      await assert.rejects(add(store, 'lost?'), isUnavailable)
      for (const suffix of ['-wal', '-shm']) renameSync(path + suffix, join(folder, `old.db${suffix}`))
      assert.deepEqual(await names(store), ['from the backup'])
      await add(store, 'b')
      await store.close()
      const database = new DatabaseSync(path)
      assert.equal(database.prepare('pragma integrity_check').get()?.integrity_check, 'ok')
      assert.equal(database.prepare('select count(*) as count from animals').get()?.count, 2)
      database.close()
    })
  }

  test('all three files moved away, the backup copied: the backup is served at once, and the old one is whole', async t => {
    const folder = temporaryFolder(t)
    const path = join(folder, 'a.db')
    const backup = openSqliteStore({ path: join(folder, 'backup.db'), clock: systemClock, create: true })
    await add(backup, 'from the backup')
    await backup.close()
    const store = openStore(t, path)
    await add(store, 'a')
    for (const suffix of ['', '-wal', '-shm']) renameSync(path + suffix, join(folder, `old.db${suffix}`))
    copyFileSync(join(folder, 'backup.db'), path)
    await add(store, 'b')
    assert.deepEqual(await names(store), ['from the backup', 'b'])
    assert.deepEqual(await names(openStore(t, join(folder, 'old.db'), false)), ['a'])
  })

  test('locked by someone else: a writer waits, reads go on, and what waited too long is unavailable', async t => {
    const path = join(temporaryFolder(t), 'a.db')
    const store = openStore(t, path)
    await add(store, 'a')
    const other = new DatabaseSync(path)
    t.after(() => other.close())
    other.exec('begin immediate')
    const waiting = add(store, 'b')
    assert.deepEqual(await names(store), ['a'])
    other.exec('rollback')
    await waiting
    assert.deepEqual(await names(store), ['a', 'b'])
    other.exec('begin immediate')
    await assert.rejects(add(store, 'c'), isUnavailable)
    other.exec('rollback')
    assert.deepEqual(await names(store), ['a', 'b'])
    await add(store, 'd')
    assert.deepEqual(await names(store), ['a', 'b', 'd'])
  })

  test('locked, with many that wait: nothing else is held up by them', async t => {
    const path = join(temporaryFolder(t), 'a.db')
    const store = openStore(t, path)
    const other = new DatabaseSync(path)
    t.after(() => other.close())
    other.exec('begin immediate')
    const waiting = Promise.all(Array.from({ length: 100 }, (_, index) => add(store, `a${index}`)))
    // Each turn of the event loop would take 5 seconds if each of them blocked it for 50 ms.
    const since = performance.now()
    for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve))
    assert.ok(performance.now() - since < 1_000)
    other.exec('rollback')
    await waiting
    assert.equal((await names(store)).length, 100)
  })

  test('a failure that is our own fault is not called unavailable', async t => {
    const store = openStore(t, join(temporaryFolder(t), 'a.db'))
    const badStatus = { name: 'a', categoryId: 1n, status: 'lost' as 'sold' }
    await assert.rejects(
      store.createAnimals([{ animal: { name: 'x', categoryId: 1n } }, { animal: badStatus }]),
      (error: unknown) => !(error instanceof ServiceError),
    )
    assert.deepEqual(await names(store), [])
    await add(store, 'a')
    assert.deepEqual(await names(store), ['a'])
  })
})
