// SQLite files that cannot be used: opening them fails with one clear line and does not change them.

import assert from 'node:assert/strict'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { inspect } from 'node:util'
import { systemClock } from '../src/clock.ts'
import { LATEST_SCHEMA } from '../src/database/sqlite/migrate.ts'
import { openSqliteStore } from '../src/database/sqlite/sqlite-store.ts'
import { UnusableDatabase } from '../src/store.ts'
import { createAnimals } from './support/animals.ts'
import { shared, startTestService, temporaryFolder } from './support/service.ts'
import { addAnimal, animalNames, openDatabase, openTestStore, runSql } from './support/sqlite.ts'

const PAGE = 4096

async function createDatabase(path: string, animals: number): Promise<void> {
  const store = openSqliteStore({ path, clock: systemClock, create: true })
  await createAnimals(
    store,
    Array.from({ length: animals }, (_, index) => ({
      animal: { name: `${'x'.repeat(200)} ${index}`, categoryId: BigInt(index), status: 'sold' as const },
    })),
  )
  await store.close()
}

/** Overwrites a part of the file. */
function damage(path: string, fromPage: number, pages: number): void {
  const bytes = readFileSync(path)
  bytes.fill(0xa5, fromPage * PAGE, (fromPage + pages) * PAGE)
  writeFileSync(path, bytes)
}

suite('an unusable SQLite file is rejected in one line and not changed', () => {
  /** Databases with one animal and a thousand, to be copied. */
  const databases = shared(async () => {
    const folder = temporaryFolder()
    const paths = {
      one: join(folder, 'one.db'),
      thousand: join(folder, '1k.db'),
    }
    await createDatabase(paths.one, 1)
    await createDatabase(paths.thousand, 1_000)
    return paths
  })

  const copyOf = (name: 'one' | 'thousand', change: (path: string) => void) => (path: string) => {
    copyFileSync(databases()[name], path)
    change(path)
  }
  const changed = (sql: string) => copyOf('one', path => runSql(path, sql))

  const rows: [string, RegExp, (path: string) => void][] = [
    [
      'not a database',
      /file is not a database\. Check the path, or restore a backup\.$/,
      path => writeFileSync(path, 'A letter.\n'.repeat(100)),
    ],
    ['a folder', /is not a file/, path => void mkdirSync(path)],
    ['read-only', /is read-only/, copyOf('one', path => chmodSync(path, 0o444))],
    [
      "another program's database",
      /belongs to another program/,
      path => runSql(path, 'create table songs (title text)'),
    ],
    [
      'empty, but with a schema version',
      /belongs to another program/,
      path => runSql(path, 'pragma user_version = 7'),
    ],
    ['truncated', /malformed/, copyOf('thousand', path => truncateSync(path, 10 * PAGE))],
    [
      'with a newer schema',
      new RegExp(`has schema 99, newer than ${LATEST_SCHEMA}`),
      changed('pragma user_version = 99'),
    ],
    [
      'without one of its tables',
      new RegExp(`has schema ${LATEST_SCHEMA}, but does not have its tables`),
      changed('drop table idempotency_keys'),
    ],
    [
      'with the version of an older schema',
      /has schema 1, but does not have its tables/,
      changed('pragma user_version = 1'),
    ],
    [
      'without one of its columns',
      /cannot be opened: .*\bcolumn\b.*\bstatus\.$/,
      changed('drop index animals_by_status; alter table animals rename column status to state'),
    ],
  ]
  for (const [what, reason, prepare] of rows) {
    test(what, t => {
      const path = join(temporaryFolder(), 'a.db')
      prepare(path)
      const before = what === 'a folder' ? undefined : readFileSync(path)
      assert.throws(
        () => openTestStore(t, path),
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

  test('with the write-ahead log of a crash, which is not changed either', async t => {
    const folder = temporaryFolder()
    const path = join(folder, 'a.db')
    await addAnimal(openTestStore(t, path), 'a')
    openDatabase(t, path).exec('pragma user_version = 99')
    const crashed = join(folder, 'crashed.db')
    for (const suffix of ['', '-wal']) copyFileSync(path + suffix, crashed + suffix)
    const before = [readFileSync(crashed), readFileSync(`${crashed}-wal`)]
    assert.throws(() => openTestStore(t, crashed), /has schema 99/)
    assert.deepEqual([readFileSync(crashed), readFileSync(`${crashed}-wal`)], before)
  })

  test('in a folder that cannot be created', t => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'file'), '')
    const path = join(folder, 'file', 'a.db')
    assert.throws(() => openTestStore(t, path), /The folder of the database .* cannot be created/)
  })
})

test('a file with further tables, such as those that Litestream adds, can be used', async t => {
  const path = join(temporaryFolder(), 'a.db')
  await createDatabase(path, 1)
  runSql(path, 'create table _litestream_seq (id integer primary key, seq integer)')
  runSql(path, 'create table _litestream_lock (id integer); create table songs (title text)')
  assert.equal((await openTestStore(t, path).listAnimals({ limit: 10 })).length, 1)
})

test('damage is not looked for when a file is opened: what needs it gets 503, and the log says to restore a backup', async t => {
  const path = join(temporaryFolder(), 'a.db')
  await createDatabase(path, 1_000)
  damage(path, 20, 20)
  const service = await startTestService(t, { database: { kind: 'sqlite', path } })
  const statusOf = async (target: string) => (await service.send('GET', target)).status
  assert.equal(await statusOf('/v1/pets?limit=1'), 200)
  const statuses = new Set<number>()
  for (let id = 1; id < 1_000; id += 20) statuses.add(await statusOf(`/v1/pets/${id}`))
  assert.deepEqual([...statuses].sort(), [200, 503])
  const errors = service.logs.filter(({ level }) => Number(level) === 50)
  assert.match(inspect(errors), /the database file is damaged: stop the service and restore a backup/)
})

test('a file that was being created when its process was killed is opened by the next start', async t => {
  const folder = temporaryFolder()
  const [unfinished, left] = [join(folder, 'unfinished.db'), join(folder, 'left.db')]
  const database = openDatabase(t, unfinished)
  // The cache is so small that pages are written before the commit, and so the rollback journal is needed.
  database.exec('pragma cache_size = 1; begin; create table animals (name text)')
  const insert = database.prepare('insert into animals values (randomblob(500))')
  for (let count = 0; count < 100; count++) insert.run()
  for (const suffix of ['', '-journal']) copyFileSync(unfinished + suffix, left + suffix)
  const store = openTestStore(t, left)
  await addAnimal(store, 'Bella')
  assert.deepEqual(await animalNames(store), ['Bella'])
})
