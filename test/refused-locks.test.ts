// The operating system refuses all file locks, like a network file system whose server does not respond.

import assert from 'node:assert/strict'
import { readFileSync, rmSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { suite, type TestContext, test } from 'node:test'
import { serve } from './support/command.ts'
import { childrenOf } from './support/processes.ts'
import { API_KEY, client, temporaryFolder } from './support/service.ts'
import { countAnimals, runSql } from './support/sqlite.ts'
import { inject, WITHOUT_STRACE } from './support/strace.ts'
import { waitUntil } from './support/wait.ts'

const REFUSED = 'fcntl:error=ENOLCK'

const INSERT = "insert into animals (name, category_id) values ('a', 1)"

/** Makes SQLite mark the newest state. Otherwise the service could share a lock on an older one. */
const READ = 'select * from animals'

/** How long SQLite blocks a thread that asks for a refused lock. */
const SQLITE_GIVES_UP_MS = 9_000

/** The bytes of a `-shm` file on which SQLite takes read locks. */
const READ_LOCK_BYTES = { first: 123, last: 127 }

/** Linux shows adjacent locks as one, so this is the first byte of each group. */
function readLocks(pid: number, ino: number): number[] {
  const lock = new RegExp(`READ +${pid} \\S+:${ino} (\\d+) `, 'g')
  return [...readFileSync('/proc/locks', 'utf8').matchAll(lock)]
    .map(([, byte]) => Number(byte))
    .filter(byte => byte >= READ_LOCK_BYTES.first && byte <= READ_LOCK_BYTES.last)
}

/** Starts a service with two animals. */
async function startService(t: TestContext, workers = 1) {
  const cwd = temporaryFolder(t)
  const { child, address, ended } = await serve(t, ['--workers', `${workers}`], {
    cwd,
    env: { ANIMAL_STORE_API_KEY: API_KEY },
  })
  const { send, close } = client(address)
  t.after(close)

  async function create(): Promise<number> {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'Bella', categoryId: 7 })
    return (await send('POST', '/v1/pets', { headers, body })).status
  }

  async function refuse(fault: string): Promise<(() => Promise<void>) | undefined> {
    const strace = await inject(t, [child.pid, ...childrenOf(child.pid)], fault)
    if (strace === undefined) {
      t.skip('this user may not trace processes')
      return undefined
    }
    return async () => {
      strace.child.kill('SIGTERM')
      await strace.ended
    }
  }

  function haveSameReadLock(): boolean {
    const { ino } = statSync(`${cwd}/data/production.db-shm`)
    const locks = childrenOf(child.pid).map(pid => readLocks(pid, ino).join())
    return new Set(locks).size === 1 && locks[0] !== ''
  }

  assert.equal(await create(), 201)
  assert.equal(await create(), 201)
  const path = `${cwd}/data/production.db`
  const runElsewhere = (sql: string) => runSql(path, sql)
  return {
    path,
    create,
    refuse,
    haveSameReadLock,
    writeElsewhere: () => runElsewhere(`${INSERT}; ${READ}`),
    readElsewhere: () => runElsewhere(READ),
    get: async (path: string) => (await send('GET', path)).status,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

suite('while the system refuses file locks', { concurrency: 2, skip: WITHOUT_STRACE }, () => {
  test('animals are served, creations get 503, and work again afterwards', async t => {
    const { create, refuse, get } = await startService(t)
    const allow = await refuse(REFUSED)
    if (allow === undefined) return
    const startedAt = performance.now()
    assert.equal(await get('/v1/pets'), 200)
    assert.equal(await get('/v1/pets/1'), 200)
    assert.ok(performance.now() - startedAt < SQLITE_GIVES_UP_MS)
    assert.equal(await create(), 503)
    assert.equal(await get('/v1/pets?limit=1'), 200)
    assert.equal(await get('/livez'), 200)
    await allow()
    await waitUntil(async () => (await create()) === 201, { what: 'an animal is stored' })
    assert.equal(await get('/v1/pets'), 200)
  })

  test('all workers serve animals that one of them has stored', async t => {
    const { refuse, get, haveSameReadLock } = await startService(t, 2)
    await waitUntil(haveSameReadLock, { what: 'all workers have a read lock on the same state' })
    const allow = await refuse(REFUSED)
    if (allow === undefined) return
    // Each request has its own connection, so that they are spread over both workers.
    const statuses = await Promise.all(Array.from({ length: 10 }, () => get('/v1/pets')))
    assert.deepEqual(new Set(statuses), new Set([200]))
    await allow()
  })

  test('after a change by another process, reads get 503 until the locks work again, and nothing blocks', async t => {
    const { create, refuse, writeElsewhere, get } = await startService(t)
    const allow = await refuse(REFUSED)
    if (allow === undefined) return
    const startedAt = performance.now()
    writeElsewhere()
    const statuses = await Promise.all([get('/v1/pets'), get('/v1/pets/1'), get('/livez')])
    assert.deepEqual(statuses, [503, 503, 200])
    assert.ok(performance.now() - startedAt < SQLITE_GIVES_UP_MS)
    await allow()
    await waitUntil(async () => (await get('/v1/pets/3')) === 200, { what: 'the change is served' })
    await waitUntil(async () => (await create()) === 201, { what: 'an animal is stored' })
  })

  test('after a change whose state could not be locked, reads get 503, and nothing blocks', async t => {
    const { create, refuse, readElsewhere, get } = await startService(t)
    // The first call of the writer thread locks the file for this write. Each later one is refused.
    const allow = await refuse(`${REFUSED}:when=2+`)
    if (allow === undefined) return
    const startedAt = performance.now()
    assert.equal(await create(), 201)
    readElsewhere()
    assert.deepEqual(await Promise.all([get('/v1/pets'), get('/livez')]), [503, 200])
    assert.ok(performance.now() - startedAt < SQLITE_GIVES_UP_MS)
    await allow()
    await waitUntil(async () => (await get('/v1/pets/3')) === 200, { what: 'the change is served' })
  })

  test('a lock that could not be released blocks creations no longer than that', async t => {
    const { create, refuse, get } = await startService(t)
    // The first call of the writer thread locks the file for this write, the second should unlock it. No other write comes
    // between: the first one of the service itself, which deletes expired keys, is a minute after the start.
    const allow = await refuse(`${REFUSED}:when=2+`)
    if (allow === undefined) return
    assert.equal(await create(), 201)
    assert.equal(await create(), 503)
    await allow()
    await waitUntil(async () => (await create()) === 201, { what: 'an animal is stored' })
    assert.equal(await get('/v1/pets'), 200)
  })

  test('the write-ahead log is removed: animals are served, and creations work again afterwards', async t => {
    const { path, create, refuse, get } = await startService(t)
    const allow = await refuse(REFUSED)
    if (allow === undefined) return
    rmSync(`${path}-wal`)
    assert.equal(await create(), 503)
    assert.equal(await get('/v1/pets'), 200)
    await allow()
    await waitUntil(async () => (await create()) === 201, { what: 'an animal is stored' })
    assert.equal(await get('/v1/pets/2'), 200)
  })

  test('a removed write-ahead log that is still in use is kept open until its content is saved', async t => {
    const { path, create, refuse, stop } = await startService(t)
    // Read-only, so that it never saves anything itself.
    const reader = new DatabaseSync(path, { readOnly: true })
    t.after(() => reader.isOpen && reader.close())
    reader.exec('begin; select * from animals')
    // A checkpoint cannot copy this animal, because the reader reads an older state.
    assert.equal(await create(), 201)
    rmSync(`${path}-wal`)
    // The service tries to save the log, and for that it releases its own read lock.
    assert.equal(await create(), 503)
    const allow = await refuse(REFUSED)
    if (allow === undefined) return
    const startedAt = performance.now()
    // Longer than SQLite asks for a refused lock.
    do assert.equal(await create(), 503)
    while (performance.now() - startedAt < 1.3 * SQLITE_GIVES_UP_MS)
    await allow()
    reader.close()
    await stop()
    assert.equal(countAnimals(path), 3)
  })
})
