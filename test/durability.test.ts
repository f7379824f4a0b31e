// Durability on SQLite: acknowledged animals survive a crash and a full disk, and the service survives a missing file.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { generateKey } from '../src/api-key.ts'
import { unavailable } from '../src/error.ts'
import { MAIN, serve } from './support/command.ts'
import { assertInventory } from './support/inventory.ts'
import { skipWithout } from './support/programs.ts'
import {
  client,
  errorCode,
  type Reply,
  startTestService,
  temporaryFolder,
  untilReadiness,
} from './support/service.ts'
import { runSql } from './support/sqlite.ts'
import { inject, WITHOUT_STRACE } from './support/strace.ts'
import { waitUntil } from './support/wait.ts'

const KEY = 'a-secret-of-my-own-choosing'
const env = { ANIMAL_STORE_API_KEY: KEY }
const NEW_KEY = { name: 'a', environment: 'production', createdAt: new Date() } as const

suite('an animal that was answered with 201', { concurrency: true }, () => {
  test('survives a kill -9 while clients create animals', async t => {
    const cwd = temporaryFolder()
    const first = await serve(t, [], { cwd, env })
    const acknowledged: string[] = []
    const createUntilKilled = async (number: number) => {
      const { create, close } = client(first.address, KEY)
      t.after(close)
      for (let count = 0; count < 10_000; count++) {
        const name = `${number}-${count}`
        assert.equal((await create({ name, categoryId: count })).status, 201)
        acknowledged.push(name)
        if (acknowledged.length === 300) first.child.kill('SIGKILL')
      }
    }
    const clients = await Promise.allSettled([1, 2, 3, 4].map(createUntilKilled))
    assert.ok(
      clients.every(({ status }) => status === 'rejected'),
      'the service was not killed',
    )
    await first.ended

    const second = await serve(t, [], { cwd, env })
    const { send, close } = client(second.address, KEY)
    t.after(close)
    const stored: string[] = []
    let path: string | undefined = '/v1/pets?limit=100'
    while (path) {
      const { json, headers } = await send('GET', path)
      stored.push(...(json as { name: string }[]).map(({ name }) => name))
      path = /<([^>]+)>; rel="next"/.exec(String(headers.link))?.[1]
    }
    assert.ok(acknowledged.length >= 300)
    assert.deepEqual(
      acknowledged.filter(name => !stored.includes(name)),
      [],
    )
    assert.equal(new Set(stored).size, stored.length)
    await assertInventory({ send })
  })

  test('survives a full disk, creations that do not fit get 503, and the service recovers by itself', {
    skip: skipWithout('prlimit'),
  }, async t => {
    const cwd = temporaryFolder()
    // A limit on the file size simulates a full disk: writes beyond it fail in the same way.
    const script = `trap '' XFSZ; ulimit -S -f 400; exec "$@"`
    const program = ['sh', '-c', script, 'sh', process.execPath, MAIN]
    const { address, printed, child } = await serve(t, [], { cwd, env, program })
    const { send, create, close } = client(address, KEY)
    t.after(close)
    const animal = { name: 'x'.repeat(1000), categoryId: 1 }
    let created = 0
    let reply = await create(animal)
    while (reply.status === 201) {
      assert.ok(++created < 1_000, 'the limit on the file size has no effect')
      reply = await create(animal)
    }
    assert.equal(reply.status, 503)
    assert.equal(reply.headers['retry-after'], '1')
    assert.equal((reply.json as { code: string }).code, 'unavailable')
    assert.doesNotMatch(reply.text, /disk|sqlite/i)
    await waitUntil(() => /"level":50.*(disk|full|I\/O)/.test(printed.out), { what: 'the failure is logged' })
    assert.equal((await create(animal)).status, 503)
    assert.equal((await send('GET', '/livez')).status, 200)
    assert.equal((await send('GET', `/v1/pets?after=${created - 1}`)).status, 200)
    assert.equal((await send('GET', `/v1/pets/${created}`)).status, 200)
    assert.equal((await send('GET', `/v1/pets/${created + 1}`)).status, 404)

    execFileSync('prlimit', ['--pid', String(child.pid), '--fsize=unlimited'])
    const isOver = async () =>
      (await create(animal)).status === 201 && printed.out.includes('the database is available again')
    await waitUntil(isOver, { what: 'animals are stored again, and the log says so' })
    assert.equal((await send('GET', `/v1/pets/${created + 1}`)).status, 200)
    await untilReadiness({ send }, 200)
  })
})

for (const fault of ['fsync,fdatasync:error=EIO', 'pwrite64:error=EIO', 'pwrite64:error=ENOSPC'])
  test(`while the disk fails (${fault}), creations get 503 and lists are served, and the service recovers`, {
    skip: WITHOUT_STRACE,
  }, async t => {
    const { address, child } = await serve(t, [], { cwd: temporaryFolder(), env })
    const { send, create, close } = client(address, KEY)
    t.after(close)
    const statusOf = async (name: string) => (await create({ name, categoryId: 1 })).status
    assert.equal(await statusOf('before'), 201)
    const strace = await inject(t, [child.pid], fault)
    if (strace === undefined) return t.skip('this user may not trace processes')
    assert.equal(await statusOf('lost?'), 503)
    assert.equal((await send('GET', '/v1/pets?limit=1')).status, 200)
    assert.equal((await send('GET', '/livez')).status, 200)
    strace.child.kill('SIGTERM')
    await strace.ended
    await waitUntil(async () => (await statusOf('after')) === 201, { what: 'an animal is stored again' })
    const { text } = await send('GET', '/v1/pets')
    assert.match(text, /"before".*"after"/)
  })

test('while the database file is missing, a stored key gets 503, not 401', async t => {
  const cwd = temporaryFolder()
  const { address, said } = await serve(t, [], { cwd })
  const key = await said(/(as_live_\w{38})/)
  renameSync(join(cwd, 'data'), join(cwd, 'moved'))
  const { send, close } = client(address, key)
  t.after(close)
  assert.equal((await send('GET', '/v1/pets')).status, 503)
})

/** Renames a table, but no reference to it. */
function rename(path: string, from: string, to: string): void {
  runSql(
    path,
    `pragma foreign_keys = off; pragma legacy_alter_table = on; alter table ${from} rename to ${to}`,
  )
}

test('health checks that come together share one check of the database, and so do those of a quarter of a second', async t => {
  const service = await startTestService(t)
  let checks = 0
  const { ping } = service.store
  service.store.ping = () => {
    checks++
    return ping()
  }
  const startedAt = performance.now()
  for (let round = 0; round < 5; round++) {
    const replies = await Promise.all(Array.from({ length: 20 }, () => service.send('GET', '/readyz')))
    for (const { status } of replies) assert.equal(status, 200)
  }
  assert.ok(checks >= 1 && checks <= 1 + (performance.now() - startedAt) / 250, `${checks} checks`)
})

test('the result of a health check is kept for a quarter of a second, and not longer', async t => {
  const { send, store } = await startTestService(t)
  const readiness = async () => (await send('GET', '/readyz')).status
  t.mock.timers.enable({ apis: ['setTimeout'] })
  assert.equal(await readiness(), 200)
  t.mock.method(store, 'ping', () => Promise.reject(unavailable()))
  t.mock.timers.tick(249)
  assert.equal(await readiness(), 200)
  t.mock.timers.tick(1)
  assert.equal(await readiness(), 503)
})

suite('while a table is missing', { concurrency: true }, () => {
  for (const table of ['animals', 'api_keys', 'idempotency_keys']) {
    test(`${table}: requests that need it get 503, readiness fails, and the service recovers`, async t => {
      const path = join(temporaryFolder(), 'animals.db')
      const service = await startTestService(t, { database: { kind: 'sqlite', path } })
      assert.equal((await service.create({ name: 'Bella', categoryId: 7 })).status, 201)
      const storedKey = { authorization: `Bearer ${generateKey(NEW_KEY).secret}` }
      const requests: Record<string, () => Promise<Reply>> = {
        animals: () => service.send('GET', '/v1/pets?limit=1'),
        api_keys: () => service.send('GET', '/v1/pets', { headers: storedKey }),
        idempotency_keys: () => service.create({ name: 'Kim', categoryId: 8 }, { 'idempotency-key': 'k' }),
      }
      const request = requests[table] as () => Promise<Reply>
      rename(path, table, 'hidden')
      for (const answer of [request, () => service.send('GET', '/readyz')]) {
        const reply = await answer()
        assert.equal(reply.status, 503)
        assert.equal(errorCode(reply), 'unavailable')
      }
      assert.equal((await service.send('GET', '/livez')).status, 200)
      rename(path, 'hidden', table)
      await untilReadiness(service, 200)
      assert.ok((await request()).status < 500)
    })
  }
})

test('while a column is missing, requests get 503, readiness fails, and the service recovers', async t => {
  const path = join(temporaryFolder(), 'animals.db')
  const { send } = await startTestService(t, { database: { kind: 'sqlite', path } })
  const statuses = async (status: number) => {
    assert.equal((await send('GET', '/v1/pets')).status, status)
    await untilReadiness({ send }, status)
  }
  await statuses(200)
  runSql(path, 'alter table animals rename column name to hidden')
  await statuses(503)
  runSql(path, 'alter table animals rename column hidden to name')
  await statuses(200)
})
