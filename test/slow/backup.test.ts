// `animal-store backup` and `animal-store restore` on SQLite: complete and verified copies, also under load and after a
// crash, and refusals that change nothing.

import assert from 'node:assert/strict'
import fs, {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, test } from 'node:test'
import { createAnimals } from '../support/animals.ts'
import { MAIN, run, serve } from '../support/command.ts'
import { runInProcess } from '../support/in-process.ts'
import { client, type Scope, temporaryFolder } from '../support/service.ts'
import {
  addAnimal,
  animalNames,
  countAnimals,
  openDatabase,
  openTestStore,
  queryValue,
  runSql,
} from '../support/sqlite.ts'
import { waitUntil } from '../support/wait.ts'

const KEY = 'a-secret-of-my-own-choosing'
const env = { ANIMAL_STORE_API_KEY: KEY }
const DATABASE = join('data', 'production.db')

/** Runs a command in this process, as if the folder were the current one. */
async function runIn(folder: string, command: 'backup' | 'restore', file: string, database = DATABASE) {
  const env = { DATABASE_URL: `sqlite:${join(folder, database)}` }
  const { code, err } = await runInProcess([command, resolve(folder, file)], env)
  return { code, err: err.replaceAll(`${folder}/`, '') }
}

/** A folder with the default database, which has these animals and is closed. */
async function folderWith(t: Scope, ...names: readonly string[]): Promise<string> {
  const folder = temporaryFolder()
  await createDatabase(t, join(folder, DATABASE), ...names)
  return folder
}

async function createDatabase(t: Scope, path: string, ...names: readonly string[]): Promise<void> {
  const store = openTestStore(t, path)
  for (const name of names) await addAnimal(store, name)
  await store.close()
}

function namesIn(path: string): unknown {
  return queryValue(path, "select group_concat(name, ' ') from (select name from animals order by id)")
}

function assertIntact(path: string): void {
  assert.equal(queryValue(path, 'pragma integrity_check'), 'ok')
}

/** The path of the old database, from the message of a restore. */
function oldDatabase(folder: string, err: string): string {
  return resolve(folder, /^The old database is at (.+)\.$/m.exec(err)?.[1] ?? assert.fail(err))
}

/** Calls `look` before each call of a function that changes files, until the returned function is called. */
function beforeEachFileCall(look: () => void): () => void {
  const names = ['openSync', 'linkSync', 'rmSync', 'renameSync', 'fsyncSync', 'mkdirSync'] as const
  const originals = Object.fromEntries(names.map(name => [name, fs[name]]))
  let isLooking = false
  const replacements = names.map(name => {
    const original: (...args: never[]) => unknown = fs[name]
    const replacement = (...args: never[]) => {
      if (!isLooking) {
        isLooking = true
        look()
        isLooking = false
      }
      return original(...args)
    }
    return [name, replacement]
  })
  Object.assign(fs, Object.fromEntries(replacements))
  syncBuiltinESMExports()
  return () => {
    Object.assign(fs, originals)
    syncBuiltinESMExports()
  }
}

/** Starts the service, creates animals, and kills it, so that the newest animals are in the WAL only. */
async function crashedFolder(t: Scope, count: number): Promise<string> {
  const cwd = temporaryFolder()
  const { address, child, ended } = await serve(t, [], { cwd, env })
  const { create, close } = client(address, KEY)
  t.after(close)
  for (let index = 0; index < count; index++)
    assert.equal((await create({ name: `a${index}`, categoryId: index })).status, 201)
  child.kill('SIGKILL')
  await ended
  assert.ok(statSync(join(cwd, `${DATABASE}-wal`)).size > 0)
  return cwd
}

/** Writes a WAL to `file` that adds an animal named `planted` to the database, and leaves the database as it is. */
function plantWal(database: string, file: string): void {
  const copy = `${database}-for-the-attack`
  copyFileSync(database, copy)
  const attacker = new DatabaseSync(copy)
  attacker.exec("pragma journal_mode = wal; insert into animals (name, category_id) values ('planted', 1)")
  copyFileSync(`${copy}-wal`, file)
  attacker.close()
  rmSync(copy)
}

const WITHOUT_LINKS = [
  process.execPath,
  '--import',
  new URL('../support/no-links.js', import.meta.url).href,
  MAIN,
]

suite('backup', { concurrency: true }, () => {
  test('has every animal that was acknowledged before it began, while clients create more', async t => {
    const cwd = temporaryFolder()
    const { address } = await serve(t, [], { cwd, env })
    const acknowledged: string[] = []
    let isStopped = false
    const createUntilStopped = async (number: number) => {
      const { create, close } = client(address, KEY)
      t.after(close)
      for (let count = 0; !isStopped; count++) {
        const name = `${number}-${count}`
        assert.equal((await create({ name, categoryId: count })).status, 201)
        acknowledged.push(name)
      }
    }
    const clients = [1, 2, 3, 4].map(createUntilStopped)
    await waitUntil(() => acknowledged.length >= 200, { what: 'animals are created' })
    const before = [...acknowledged]
    const { code, err } = await runIn(cwd, 'backup', 'backup.db')
    isStopped = true
    await Promise.all(clients)
    assert.equal(code, 0, err)
    assert.match(
      err,
      /^Backed up \d+ animals \(\d+ [kM]B\) from data\/production\.db to backup\.db\. The copy is verified\.\n$/,
    )

    const file = join(cwd, 'backup.db')
    assertIntact(file)
    const stored = new Set(String(namesIn(file)).split(' '))
    assert.deepEqual(
      before.filter(name => !stored.has(name)),
      [],
    )
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(cwd).sort(), ['backup.db', 'data'])
  })

  test('has the animals that a crash left in the write-ahead log', async t => {
    const cwd = await crashedFolder(t, 20)
    const { code, err } = await runIn(cwd, 'backup', 'backup.db')
    assert.equal(code, 0)
    assert.match(err, /^Backed up \d+ animals? \(\d+ kB\) from .* to /)
    assert.equal(countAnimals(join(cwd, 'backup.db')), 20)
  })

  test('works on a file system without hard links, where it also refuses a name that exists', async t => {
    const cwd = await folderWith(t, 'a')
    const program = WITHOUT_LINKS
    const { code, err } = await run(t, ['backup', 'backup.db'], { cwd, program })
    assert.equal(code, 0, err)
    assert.equal(namesIn(join(cwd, 'backup.db')), 'a')
    assert.equal(statSync(join(cwd, 'backup.db')).mode & 0o777, 0o600)
    assert.equal((await run(t, ['backup', 'backup.db'], { cwd, program })).code, 1)
    assert.deepEqual(readdirSync(cwd).sort(), ['backup.db', 'data'])
  })

  test('does not migrate the database', async t => {
    const cwd = await folderWith(t, 'a')
    runSql(join(cwd, DATABASE), 'drop index animals_by_status; drop table inventory; pragma user_version = 3')
    const { code, err } = await runIn(cwd, 'backup', 'backup.db')
    assert.equal(code, 0, err)
    for (const file of [DATABASE, 'backup.db'])
      assert.equal(queryValue(join(cwd, file), 'pragma user_version'), 3)
  })

  test('refuses a name that exists, and changes nothing', async t => {
    const cwd = await folderWith(t, 'a')
    writeFileSync(join(cwd, 'file'), 'precious')
    symlinkSync('nowhere', join(cwd, 'link'))
    mkdirSync(join(cwd, 'folder'))
    for (const name of ['file', 'link', 'folder']) {
      const { code, err } = await runIn(cwd, 'backup', name)
      assert.equal(code, 1)
      assert.equal(err, `${name} already exists. A backup does not replace a file.\n`)
    }
    assert.equal(readFileSync(join(cwd, 'file'), 'utf8'), 'precious')
    assert.deepEqual(readdirSync(cwd).sort(), ['data', 'file', 'folder', 'link'])
  })

  test('fails with one line and leaves no file if the database cannot be copied', async t => {
    const cwd = await folderWith(t, 'a')
    writeFileSync(join(cwd, 'other.txt'), 'x'.repeat(5_000))
    mkdirSync(join(cwd, 'out'))
    for (const [database, message] of [
      ['missing.db', /^There is no database at missing\.db\. Check --database-url .*\n$/],
      ['data', /^The database data is not a file\.\n$/],
      [
        'other.txt',
        /^Cannot copy other\.txt: file is not a database\. Check the path, or use an earlier backup\.\n$/,
      ],
    ] as const) {
      const { code, err } = await run(t, ['backup', 'out/b', '--database-url', `sqlite:${database}`], { cwd })
      assert.equal(code, 1)
      assert.match(err, message)
    }
    const { code, err } = await runIn(cwd, 'backup', 'no/b')
    assert.equal(code, 1)
    assert.equal(err, 'Cannot write no/b: the folder does not exist.\n')
    assert.deepEqual(readdirSync(join(cwd, 'out')), [])
  })

  test('tells users of PostgreSQL to use pg_dump, and restore tells them to use pg_restore', async () => {
    for (const [name, tool] of [
      ['backup', 'pg_dump'],
      ['restore', 'pg_restore'],
    ] as const) {
      const { code, err } = await runInProcess([name, 'x'], { DATABASE_URL: 'postgres://localhost/animals' })
      assert.equal(code, 1)
      assert.match(err, new RegExp(`use ${tool}`))
    }
  })
})

suite('restore', { concurrency: true }, () => {
  test('replaces the database, and keeps the old one so that it can be opened', async t => {
    const cwd = await folderWith(t, 'a', 'b')
    assert.equal((await runIn(cwd, 'backup', 'backup.db')).code, 0)
    const store = openTestStore(t, join(cwd, DATABASE))
    await addAnimal(store, 'c')
    await store.close()
    const { code, err } = await runIn(cwd, 'restore', 'backup.db')
    assert.equal(code, 0, err)
    assert.match(
      err,
      /^Restored 2 animals from backup\.db to data\/production\.db\. The copy is verified\.\n$/m,
    )
    assert.equal(namesIn(join(cwd, DATABASE)), 'a b')
    assert.equal(statSync(join(cwd, DATABASE)).mode & 0o777, 0o600)
    assert.equal(namesIn(oldDatabase(cwd, err)), 'a b c')
    assert.deepEqual(readdirSync(join(cwd, 'data')).length, 2)
    assert.equal(namesIn(join(cwd, 'backup.db')), 'a b')
    const restored = openTestStore(t, join(cwd, DATABASE))
    assert.deepEqual(await restored.countAnimals(), { available: 0n, pending: 0n, sold: 2n, none: 0n })
  })

  test('replaces the database on a file system without hard links too', async t => {
    const cwd = await folderWith(t, 'a')
    assert.equal((await runIn(cwd, 'backup', 'backup.db')).code, 0)
    runSql(join(cwd, DATABASE), "update animals set name = 'changed'")
    const { code, err } = await run(t, ['restore', 'backup.db'], { cwd, program: WITHOUT_LINKS })
    assert.equal(code, 0, err)
    assert.equal(namesIn(join(cwd, DATABASE)), 'a')
    assert.equal(namesIn(oldDatabase(cwd, err)), 'changed')
  })

  test('works without a database', async t => {
    const cwd = await folderWith(t, 'a')
    assert.equal((await runIn(cwd, 'backup', 'backup.db')).code, 0)
    rmSync(join(cwd, 'data'), { recursive: true })
    const { code, err } = await runIn(cwd, 'restore', 'backup.db')
    assert.equal(code, 0, err)
    assert.equal(
      err,
      'Restored 1 animal from backup.db to data/production.db, where there was no database. The copy is verified.\n',
    )
    assert.equal(namesIn(join(cwd, DATABASE)), 'a')
    assert.equal(statSync(join(cwd, 'data')).mode & 0o777, 0o700)
  })

  test('does not let the write-ahead log of the old database change the new one', async t => {
    const cwd = await crashedFolder(t, 50)
    await createDatabase(t, join(cwd, 'backup.db'), 'a', 'b')
    const { code, err } = await runIn(cwd, 'restore', 'backup.db')
    assert.equal(code, 0, err)
    const store = openTestStore(t, join(cwd, DATABASE))
    assert.deepEqual(await animalNames(store), ['a', 'b'])
    await addAnimal(store, 'c')
    await store.close()
    assertIntact(join(cwd, DATABASE))
    assertIntact(oldDatabase(cwd, err))
    assert.equal(countAnimals(oldDatabase(cwd, err)), 50)
  })

  test('moves the WAL of a database that cannot be read, and the WAL of a database that is gone', async t => {
    const cwd = await folderWith(t, 'a')
    const path = join(cwd, DATABASE)
    assert.equal((await runIn(cwd, 'backup', 'backup.db')).code, 0)
    for (const damage of [() => writeFileSync(path, 'x'.repeat(9_000)), () => rmSync(path)]) {
      damage()
      writeFileSync(`${path}-wal`, 'the log')
      const { code, err } = await runIn(cwd, 'restore', 'backup.db')
      assert.equal(code, 0, err)
      assert.equal(readFileSync(`${oldDatabase(cwd, err)}-wal`, 'utf8'), 'the log')
      assert.ok(!existsSync(`${path}-wal`))
      assert.equal(namesIn(path), 'a')
    }
  })

  for (const suffix of ['-wal', '-journal']) {
    test(`refuses a backup with a ${suffix} beside it, unless that is empty`, async t => {
      const cwd = await folderWith(t, 'old')
      const backup = join(cwd, 'backup.db')
      await createDatabase(t, backup, 'new')
      plantWal(backup, backup + suffix)
      symlinkSync(backup, join(cwd, 'link.db'))
      for (const name of ['backup.db', 'link.db']) {
        const { code, err } = await runIn(cwd, 'restore', name)
        assert.equal(code, 1)
        assert.equal(
          err,
          `backup.db${suffix} is not empty, but a backup is one file. Delete it if it is stale or not yours. ` +
            `Otherwise run animal-store backup NEW --database-url sqlite:${name} and restore NEW.\n`,
        )
      }
      assert.equal(namesIn(join(cwd, DATABASE)), 'old')
      assert.deepEqual(readdirSync(join(cwd, 'data')), ['production.db'])
      writeFileSync(backup + suffix, '')
      const { code, err } = await runIn(cwd, 'restore', 'backup.db')
      assert.equal(code, 0, err)
      assert.equal(namesIn(join(cwd, DATABASE)), 'new')
    })
  }

  test('refuses while the service has the database open, even if it is idle', async t => {
    const cwd = await folderWith(t, 'a')
    assert.equal((await runIn(cwd, 'backup', 'backup.db')).code, 0)
    const { address } = await serve(t, [], { cwd, env })
    const { send, close } = client(address, KEY)
    t.after(close)
    const refused = await runIn(cwd, 'restore', 'backup.db')
    assert.equal(refused.code, 1)
    assert.match(refused.err, /^A process has the database .*production\.db open\. Stop it first\.\n$/)
    const { status, json } = await send('GET', '/v1/pets')
    assert.deepEqual([status, (json as unknown[]).length], [200, 1])
  })

  test('refuses while another program has the database open, even before its first query', async t => {
    const cwd = await folderWith(t, 'a')
    const path = join(cwd, DATABASE)
    assert.equal((await runIn(cwd, 'backup', 'backup.db')).code, 0)
    const database = openDatabase(t, path)
    assert.equal((await run(t, ['restore', 'backup.db'], { cwd })).code, 1)
    database.exec('select * from animals')
    assert.equal((await run(t, ['restore', 'backup.db'], { cwd })).code, 1)
    assert.equal(readdirSync(join(cwd, 'data')).filter(name => /restore|unfinished/.test(name)).length, 0)
  })

  test('refuses a file that is not a complete backup, and changes nothing', async t => {
    const cwd = await folderWith(t, 'a')
    const backup = join(cwd, 'backup.db')
    const names = Array.from({ length: 50 }, () => 'x'.repeat(1_000))
    await createDatabase(t, backup, ...names)
    const copy = (name: string, change: (path: string) => void) => {
      copyFileSync(backup, join(cwd, name))
      change(join(cwd, name))
    }
    /** Changes the definition of the index by status, but not the index itself. */
    const changeIndex = (path: string, from: string, to: string) => {
      const database = new DatabaseSync(path, { defensive: false })
      database.exec(`pragma writable_schema = on;
        update sqlite_schema set sql = replace(sql, '${from}', '${to}') where name = 'animals_by_status'`)
      database.close()
    }
    copy('other.db', path => runSql(path, 'pragma application_id = 7'))
    copy('newer.db', path => runSql(path, 'pragma user_version = 99'))
    copy('table.db', path => runSql(path, 'drop table idempotency_keys'))
    copy('short.db', path => truncateSync(path, 40_000))
    copy('page.db', path => {
      const bytes = readFileSync(path)
      writeFileSync(path, bytes.fill(0xa5, 8 * 4096, 9 * 4096))
    })
    copy('row.db', path => {
      changeIndex(path, 'is not null', 'is null')
      runSql(path, "insert into animals (name, category_id, status) values ('not in the index', 1, 'sold')")
      changeIndex(path, 'is null', 'is not null')
    })
    writeFileSync(join(cwd, 'empty.db'), '')
    writeFileSync(join(cwd, 'text.db'), 'x'.repeat(9_000))
    for (const [name, message] of [
      ['other.db', /belongs to another program/],
      ['newer.db', /has schema 99, newer than/],
      ['table.db', /does not have its tables: restore a backup\.$/m],
      ['short.db', /corrupt|malformed/],
      ['page.db', /^The database page\.db is corrupt \(.+\)\.$/m],
      // SQLite's quick check does not find this.
      ['row.db', /^The database row\.db is corrupt \(row 51 missing from index animals_by_status\)\.$/m],
      ['empty.db', /has no tables/],
      ['text.db', /file is not a database\. Check the path, or use an earlier backup\.$/m],
      ['missing.db', /^There is no backup at missing\.db\.$/m],
      [DATABASE, /is the database itself/],
    ] as const) {
      const { code, err } = await runIn(cwd, 'restore', name)
      assert.equal(code, 1, name)
      assert.match(err, message)
      assert.equal(err.split('\n').length, 2, err)
    }
    assert.equal(namesIn(join(cwd, DATABASE)), 'a')
    assert.deepEqual(readdirSync(join(cwd, 'data')), ['production.db'])
    const target = join('new', 'folder', 'animals.db')
    assert.equal((await runIn(cwd, 'restore', 'text.db', target)).code, 1)
    assert.equal(existsSync(join(cwd, 'new')), false)
    assert.equal((await runIn(cwd, 'restore', DATABASE, target)).code, 0)
    assert.equal(namesIn(join(cwd, target)), 'a')
  })
})

test('a restore reads no file that is put beside the backup after it was checked', async t => {
  const cwd = await folderWith(t, 'old')
  const backup = join(cwd, 'backup.db')
  await createDatabase(t, backup, 'new')
  plantWal(backup, join(cwd, 'planted-wal'))
  const stop = beforeEachFileCall(() => copyFileSync(join(cwd, 'planted-wal'), `${backup}-wal`))
  t.after(stop)
  const { code, err } = await runIn(cwd, 'restore', 'backup.db')
  stop()
  assert.equal(code, 0, err)
  assert.ok(existsSync(`${backup}-wal`))
  assert.equal(namesIn(join(cwd, DATABASE)), 'new')
})

test('a backup is copied and verified in a folder that only this user may enter', async t => {
  const cwd = await folderWith(t, 'a')
  const modes = new Set<number>()
  const stop = beforeEachFileCall(() => {
    for (const name of readdirSync(cwd).filter(each => each.startsWith('backup.db')))
      modes.add(statSync(join(cwd, name)).mode & 0o777)
  })
  t.after(stop)
  const { code, err } = await runIn(cwd, 'backup', 'backup.db')
  stop()
  assert.equal(code, 0, err)
  // The folder, and then the file, which has its name only when it is complete.
  assert.deepEqual([...modes], [0o700, 0o600])
})

test('a restore that is killed at any step leaves the complete old or the complete new database', async t => {
  const cwd = await folderWith(t, 'old')
  await createDatabase(t, join(cwd, 'backup.db'), 'new')
  // What is on the disk before a step is what a kill at this moment leaves.
  let steps = 0
  const stop = beforeEachFileCall(() => {
    cpSync(join(cwd, 'data'), join(cwd, `step-${++steps}`), { recursive: true })
  })
  t.after(stop)
  const { code, err } = await runIn(cwd, 'restore', 'backup.db')
  stop()
  assert.equal(code, 0, err)
  const found = Array.from({ length: steps }, (_, index) => {
    const path = join(cwd, `step-${index + 1}`, 'production.db')
    assertIntact(path)
    return namesIn(path)
  })
  assert.deepEqual([...new Set(found)], ['old', 'new'])
  assert.ok(steps > 8, `${steps} steps`)
})

test('a backup of several steps shows how much is copied', async t => {
  const cwd = temporaryFolder()
  const store = openTestStore(t, join(cwd, DATABASE))
  const animal = { name: 'x'.repeat(1_000), categoryId: 1n }
  const batch = Array.from({ length: 1_000 }, () => ({ animal }))
  for (let count = 0; count < 10; count++) await createAnimals(store, batch)
  await store.close()
  let now = 0
  // A line is shown every five seconds.
  t.mock.method(performance, 'now', () => {
    now += 5_000
    return now
  })
  const { code, err } = await runIn(cwd, 'backup', 'backup.db')
  assert.equal(code, 0, err)
  assert.match(err, /^copied \d+ MB, \d+ MB a second, \d+ s left\n(?:copied .*\n)*Backed up 10,000 animals /)
})
