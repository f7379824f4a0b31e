// `animal-store copy`: everything of one database in another, either way, or nothing.

import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import pg from 'pg'
import { parseDatabaseUrl } from '../src/database/open.ts'
import { REQUEST_TIMEOUTS } from '../src/database/postgres/timeouts.ts'
import { start } from './support/command.ts'
import { runInProcess } from './support/in-process.ts'
import { administer, countRows, newDatabase } from './support/postgres.ts'
import {
  API_KEY,
  client,
  type Scope,
  startTestService,
  type TestService,
  temporaryFolder,
} from './support/service.ts'
import { countAnimals, lockForWriting, queryValue, runSql } from './support/sqlite.ts'
import { waitUntil } from './support/wait.ts'

type Kind = 'SQLite' | 'PostgreSQL'

const KINDS: readonly Kind[] = ['SQLite', 'PostgreSQL']
const WAYS = KINDS.flatMap(from => KINDS.map(to => ({ from, to })))

/** The URL of a database without animals and keys. */
async function newUrl(t: Scope, kind: Kind): Promise<string> {
  return kind === 'SQLite' ? `sqlite:${join(temporaryFolder(), 'animals.db')}` : newDatabase(t)
}

const pathOf = (url: string) => url.slice('sqlite:'.length)

function copy(from: string, to: string) {
  return runInProcess(['copy'], { DATABASE_URL: from, TO_DATABASE_URL: to })
}

/** Runs SQL on either database. */
async function runOn(url: string, sql: string): Promise<void> {
  if (url.startsWith('sqlite:')) runSql(pathOf(url), sql)
  else await administer(sql, url)
}

async function countOn(url: string, table: string): Promise<number> {
  return url.startsWith('sqlite:')
    ? Number(queryValue(pathOf(url), `select count(*) from ${table}`))
    : countRows(table, url)
}

/** Runs the work with a service on this database, and stops it. */
async function withService<Result>(
  url: string,
  work: (service: TestService) => Promise<Result>,
): Promise<Result> {
  const stops: (() => unknown)[] = []
  const scope = { after: (stop: () => unknown) => void stops.push(stop) }
  try {
    return await work(await startTestService(scope, { database: parseDatabaseUrl(url), apiKey: undefined }))
  } finally {
    for (const stop of stops) await stop()
  }
}

const headersOf = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' })

/** Stores animals, keys and answers to retries. Returns the key and what a client sees. */
async function fill(url: string) {
  return withService(url, async service => {
    const key = service.firstKey ?? ''
    const headers = headersOf(key)
    const create = (animal: string, idempotencyKey: string) =>
      service.send('POST', '/v1/pets', {
        headers: { ...headers, 'idempotency-key': idempotencyKey },
        body: animal,
      })
    const animals = [
      '{"name":"Zoë 🐈","categoryId":9223372036854775807,"status":"sold"}',
      '{"name":" \\"quotes\\", commas\\\\ and\\nlines ","categoryId":-9223372036854775808}',
      '{"name":"{NULL}","categoryId":9007199254740993,"status":"available"}',
      '{"name":"removed later","categoryId":1,"status":"pending"}',
      '{"name":"the last one","categoryId":1,"status":"pending"}',
    ]
    for (const [index, animal] of animals.entries())
      assert.equal((await create(animal, `retry-${index}`)).status, 201)
    // The last two are gone, and so are their ids.
    for (const id of [4, 5])
      assert.equal((await service.send('DELETE', `/v1/pets/${id}`, { headers })).status, 204)
    return { key, animals, ...(await see(service, key)) }
  })
}

/** What a client sees of a database. */
async function see(service: TestService, key: string) {
  const headers = headersOf(key)
  const get = async (path: string) => (await service.send('GET', path, { headers })).text
  return {
    list: await get('/v1/pets'),
    found: await get('/v1/pets?name=zoe'),
    sold: await get('/v1/pets?status=sold'),
    inventory: await get('/v1/store/inventory'),
  }
}

suite('copy', { concurrency: 2 }, () => {
  for (const { from, to } of WAYS) {
    test(`puts everything of ${from} into ${to}`, async t => {
      const [source, target] = [await newUrl(t, from), await newUrl(t, to)]
      const { key, animals, ...seen } = await fill(source)
      const json = async (url: string) =>
        JSON.parse((await runInProcess(['keys', 'list', '--json'], { DATABASE_URL: url })).out)
      await runInProcess(['keys', 'create', '--name', 'window', '--read-only'], { DATABASE_URL: source })
      const staging = ['keys', 'create', '--name', 's', '--environment', 'staging', '--expires', '1d']
      await runInProcess(staging, { DATABASE_URL: source })
      // As version 1.1 has left it.
      await runOn(
        source,
        `insert into idempotency_keys (scope, key, animal_id, created_at) values ('s', 'old', 1, 1795098157310)`,
      )

      const { code, err } = await copy(source, target)
      assert.equal(code, 0, err)
      assert.match(
        err,
        /^3 animals and 3 keys copied from .* to .* in [\d.]+ s, and compared\. Now set DATABASE_URL to the new database: what is written to the old one from now on is missing there\.$/m,
      )
      assert.deepEqual(await json(target), await json(source))
      for (const table of ['animals', 'api_keys', 'idempotency_keys'])
        assert.equal(await countOn(target, table), await countOn(source, table), table)
      await withService(target, async service => {
        assert.equal(service.firstKey, undefined)
        assert.deepEqual(await see(service, key), seen)
        const next = await service.send('POST', '/v1/pets', {
          headers: headersOf(key),
          body: '{"name":"next","categoryId":1}',
        })
        assert.equal(next.headers.location, '/v1/pets/6')
        for (const [index, body] of animals.entries()) {
          const headers = { ...headersOf(key), 'idempotency-key': `retry-${index}` }
          const replayed = await service.send('POST', '/v1/pets', { headers, body })
          assert.equal(replayed.headers['idempotent-replayed'], 'true')
          assert.equal(replayed.headers.location, `/v1/pets/${index + 1}`)
        }
      })
      // The source goes on where it was.
      await withService(source, async service => assert.deepEqual(await see(service, key), seen))
      const again = await copy(source, target)
      assert.equal(again.code, 1)
      assert.match(again.err, /has animals already\. Copy to a new one\.$/m)
    })

    test(`from ${from} to ${to}: a service on the source reads, and Ctrl-C leaves nothing`, async t => {
      const [source, target] = [await newUrl(t, from), await newUrl(t, to)]
      const { key, list } = await fill(source)
      const migrated = await runInProcess(['migrate'], { DATABASE_URL: target })
      assert.equal(migrated.code, 0, migrated.err)
      const unlock = await lock(t, target)
      const service = await startTestService(t, {
        database: parseDatabaseUrl(source),
        databaseTimeouts: REQUEST_TIMEOUTS,
        apiKey: undefined,
      })
      const copying = start(t, ['copy'], {
        cwd: temporaryFolder(),
        env: { DATABASE_URL: source, TO_DATABASE_URL: target },
      })
      const body = '{"name":"meanwhile","categoryId":1}'
      const create = async () =>
        (await service.send('POST', '/v1/pets', { headers: headersOf(key), body })).status
      // The copy has locked the source, and waits for the target.
      await waitUntil(async () => (await create()) === 503, { what: 'writes are refused' })
      assert.equal((await service.send('GET', '/v1/pets/1', { headers: headersOf(key) })).status, 200)
      copying.child.kill('SIGINT')
      const { code, err } = await copying.ended
      assert.equal(code, 130, err)
      assert.match(err, /^Stopped\. Nothing was copied\.$/m)
      await unlock()
      assert.deepEqual([await countOn(target, 'animals'), await countOn(target, 'api_keys')], [0, 0])
      await waitUntil(async () => (await create()) === 201, { what: 'writes work again' })
      const after = await service.send('GET', '/v1/pets', { headers: headersOf(key) })
      assert.ok(after.text.startsWith(list.slice(0, -1)))
      await service.send('DELETE', '/v1/pets/6', { headers: headersOf(key) })
    })
  }

  /** Keeps a copy from beginning to write. */
  async function lock(t: Scope, url: string): Promise<() => unknown> {
    if (url.startsWith('sqlite:')) return lockForWriting(t, pathOf(url))
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    // The end of the test drops the database.
    other.on('error', () => {})
    t.after(() => other.end())
    await other.query('begin; lock table animals in share mode')
    return () => other.query('rollback')
  }

  test('refuses a target with animals or keys, and writes nothing to it', async t => {
    const source = await newUrl(t, 'SQLite')
    await fill(source)
    for (const kind of KINDS) {
      for (const [what, add] of [
        ['animals', `insert into animals (name, category_id) values ('here', 1)`],
        ['keys', ''],
      ] as const) {
        const target = await newUrl(t, kind)
        await runInProcess(['migrate'], { DATABASE_URL: target })
        if (what === 'animals') await runOn(target, add)
        else await runInProcess(['keys', 'create', '--name', 'here'], { DATABASE_URL: target })
        const { code, err } = await copy(source, target)
        assert.equal(code, 1)
        assert.match(err, new RegExp(`^The database .* has ${what} already\\. Copy to a new one\\.$`, 'm'))
        const counts = [await countOn(target, 'animals'), await countOn(target, 'api_keys')]
        assert.deepEqual(counts, what === 'animals' ? [1, 0] : [0, 1])
      }
    }
  })

  test('refuses a target of an older version with animals without migrating it', async t => {
    const source = await newUrl(t, 'SQLite')
    await fill(source)
    const target = join(temporaryFolder(), 'old.db')
    copyFileSync(new URL('fixtures/schema-7.db', import.meta.url), target)
    const before = readFileSync(target)
    const { code, err } = await copy(source, `sqlite:${target}`)
    assert.equal(code, 1)
    assert.match(err, /has animals already/)
    assert.deepEqual(readFileSync(target), before)
  })

  test('refuses a source of an older version, and neither changes it nor creates the target', async t => {
    const folder = temporaryFolder()
    const source = join(folder, 'old.db')
    copyFileSync(new URL('fixtures/schema-7.db', import.meta.url), source)
    const before = readFileSync(source)
    const { code, err } = await copy(`sqlite:${source}`, `sqlite:${join(folder, 'new.db')}`)
    assert.equal(code, 1)
    assert.match(err, /old\.db has schema 7, older than \d+: run animal-store migrate on it first\.$/m)
    assert.deepEqual(readdirSync(folder), ['old.db'])
    assert.deepEqual(readFileSync(source), before)
    const postgres = await newDatabase(t)
    await runInProcess(['migrate'], { DATABASE_URL: postgres })
    await administer('update animal_store_schema set version = 8', postgres)
    const refused = await copy(postgres, `sqlite:${join(folder, 'new.db')}`)
    assert.equal(refused.code, 1)
    assert.match(refused.err, /has schema 8, older than \d+: run animal-store migrate on it first\.$/m)
    assert.ok(!existsSync(join(folder, 'new.db')))
  })

  test('keeps the next id of a database whose animals are all gone', async t => {
    for (const { from, to } of WAYS) {
      const [source, target] = [await newUrl(t, from), await newUrl(t, to)]
      const { key } = await fill(source)
      await runOn(source, 'delete from animals')
      const { code, err } = await copy(source, target)
      assert.equal(code, 0, err)
      assert.match(err, /^0 animals and 1 key copied/m)
      await withService(target, async service => {
        const sent = { headers: headersOf(key), body: '{"name":"next","categoryId":1}' }
        assert.equal((await service.send('POST', '/v1/pets', sent)).headers.location, '/v1/pets/6')
      })
    }
  })

  const failures: [string, string | undefined, string | undefined, number, RegExp][] = [
    [
      'no target',
      'sqlite:a.db',
      undefined,
      2,
      /^--to \(TO_DATABASE_URL\) is required: the database to copy to/,
    ],
    ['a malformed target', 'sqlite:a.db', 'mysql://x', 2, /^--to \(TO_DATABASE_URL\) must be sqlite:<path>/],
    ['one database', 'sqlite:a.db', 'sqlite:./a.db', 2, /must be another database than --database-url/],
    ['a target in memory', 'sqlite:/nowhere/a.db', 'sqlite::memory:', 1, /There is no database at/],
    ['a source in memory', 'sqlite::memory:', 'sqlite:a.db', 1, /A database in memory is lost/],
    [
      'no source',
      'sqlite:/nowhere/a.db',
      'sqlite:/nowhere/b.db',
      1,
      /^There is no database at \/nowhere\/a\.db/,
    ],
    [
      'no server',
      'postgres://127.0.0.1:1/x',
      'sqlite:/nowhere/b.db',
      1,
      /cannot be used: nothing listens at/,
    ],
  ]
  for (const [what, from, to, expected, message] of failures) {
    test(`fails in words with ${what}`, async () => {
      const env = { ...(from && { DATABASE_URL: from }), ...(to && { TO_DATABASE_URL: to }) }
      const { code, out, err } = await runInProcess(['copy'], env)
      assert.equal(code, expected, err)
      assert.match(err, message)
      assert.equal(out, '')
      assert.doesNotMatch(err, /^ +at /m)
    })
  }

  test('shows no password', async () => {
    const url = 'postgres://someone:hunter2@127.0.0.1:1/x'
    for (const [from, to] of [
      [url, 'sqlite:/nowhere/b.db'],
      ['sqlite:/nowhere/b.db', url],
    ] as const)
      assert.doesNotMatch((await copy(from, to)).err, /hunter2/)
  })

  test('takes the animals that only the WAL has, and leaves a file that other tools read', async t => {
    const source = join(temporaryFolder(), 'animals.db')
    const service = await startTestService(t, { database: { kind: 'sqlite', path: source } })
    const { create, close } = client(service.address, API_KEY)
    t.after(close)
    await create({ name: 'in the WAL', categoryId: 1 })
    const target = join(temporaryFolder(), 'copy.db')
    const { code, err } = await copy(`sqlite:${source}`, `sqlite:${target}`)
    assert.equal(code, 0, err)
    assert.equal(countAnimals(target), 1)
    assert.equal(queryValue(target, 'pragma integrity_check'), 'ok')
    assert.deepEqual(readdirSync(join(target, '..')), ['copy.db'])
  })
})
