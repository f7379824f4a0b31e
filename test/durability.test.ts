import assert from 'node:assert/strict'
import { renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { MAIN, run, serve } from './support/command.ts'
import { client, startTestService, temporaryFolder } from './support/service.ts'

const KEY = 'a-secret-of-my-own-choosing'
const env = { ANIMAL_STORE_API_KEY: KEY }
const JSON_TYPE = { 'content-type': 'application/json' }

suite('what was answered with 201', { concurrency: true }, () => {
  test('survives a kill -9 in the middle of the work', async t => {
    const cwd = temporaryFolder(t)
    const first = await serve(t, [], { cwd, env })
    const acknowledged: string[] = []
    const worker = async (number: number) => {
      const { send, close } = client(first.address, KEY)
      t.after(close)
      for (let count = 0; ; count++) {
        const name = `${number}-${count}`
        const reply = await send('POST', '/v1/pets', {
          headers: JSON_TYPE,
          body: JSON.stringify({ name, categoryId: count }),
        })
        assert.equal(reply.status, 201)
        acknowledged.push(name)
        if (acknowledged.length === 300) first.child.kill('SIGKILL')
      }
    }
    const workers = await Promise.allSettled([1, 2, 3, 4].map(worker))
    assert.ok(workers.every(({ status }) => status === 'rejected'))
    await first.ended

    const second = await serve(t, [], { cwd, env })
    const { send, close } = client(second.address, KEY)
    t.after(close)
    const stored: string[] = []
    let path: string | undefined = '/v1/pets?limit=100'
    while (path) {
      const { json, headers } = await send('GET', path)
      stored.push(...(json as { name: string }[]).map(({ name }) => name))
      path = /<([^>]+)>/.exec(String(headers.link))?.[1]
    }
    assert.ok(acknowledged.length >= 300)
    assert.deepEqual(
      acknowledged.filter(name => !stored.includes(name)),
      [],
    )
    assert.equal(new Set(stored).size, stored.length)
  })

  test('is there after the disk was full, while what did not fit was answered with 503', async t => {
    const cwd = temporaryFolder(t)
    // A limit on the size of files stands in for a full disk: writing beyond it fails in the same way.
    const script = `trap '' XFSZ; ulimit -f 400; exec "$@"`
    const program = ['sh', '-c', script, 'sh', process.execPath, MAIN]
    const { address, printed } = await serve(t, [], { cwd, env, program })
    const { send, close } = client(address, KEY)
    t.after(close)
    const create = (categoryId: number) =>
      send('POST', '/v1/pets', {
        headers: JSON_TYPE,
        body: JSON.stringify({ name: 'x'.repeat(1000), categoryId }),
      })
    let created = 0
    let reply = await create(0)
    while (reply.status === 201) reply = await create(++created)
    assert.equal(reply.status, 503)
    assert.equal(reply.headers['retry-after'], '1')
    assert.equal((reply.json as { code: string }).code, 'unavailable')
    assert.doesNotMatch(reply.text, /disk|sqlite/i)
    while (!/"level":50.*(disk|full|I\/O)/.test(printed.out)) await nextTurn()
    assert.equal((await create(0)).status, 503)
    assert.equal((await send('GET', '/livez')).status, 200)
    assert.equal((await send('GET', `/v1/pets?after=${created - 1}`)).status, 200)
    assert.equal((await send('GET', `/v1/pets/${created}`)).status, 200)
    assert.equal((await send('GET', `/v1/pets/${created + 1}`)).status, 404)

    // With the limit lifted, here by another process, the same file takes more.
    const { code } = await run(t, ['keys', 'create', '--name', 'x'], { cwd })
    assert.equal(code, 0)
  })
})

suite('while the database is away', { concurrency: true }, () => {
  test('every operation is 503 with Retry-After, readiness fails, liveness does not, and all is well afterwards', async t => {
    const folder = temporaryFolder(t)
    const path = join(folder, 'animals.db')
    const service = await startTestService(t, { database: { kind: 'sqlite', path } })
    await service.create({ name: 'Bella', categoryId: 7 })
    renameSync(path, join(folder, 'elsewhere'))
    for (const [method, target] of [
      ['GET', '/v1/pets'],
      ['GET', '/v1/pets/1'],
      ['HEAD', '/v1/pets/1'],
      ['GET', '/readyz'],
    ] as const) {
      const reply = await service.send(method, target)
      assert.equal(reply.status, 503, target)
      assert.equal(reply.headers['retry-after'], '1')
    }
    assert.equal(
      (await service.create({ name: 'Momo', categoryId: 7 }, { 'idempotency-key': 'k' })).status,
      503,
    )
    assert.equal((await service.send('GET', '/livez')).status, 200)
    renameSync(join(folder, 'elsewhere'), path)
    assert.equal((await service.send('GET', '/readyz')).status, 200)
    const retried = await service.create({ name: 'Momo', categoryId: 7 }, { 'idempotency-key': 'k' })
    assert.equal(retried.headers['idempotent-replayed'], undefined)
    assert.equal(((await service.send('GET', '/v1/pets')).json as unknown[]).length, 2)
  })

  test('a name that cannot even be looked up is no reason to end', async t => {
    const folder = temporaryFolder(t)
    const path = join(folder, 'animals.db')
    const service = await startTestService(t, { database: { kind: 'sqlite', path } })
    await service.create({ name: 'Bella', categoryId: 7 })
    renameSync(path, join(folder, 'elsewhere'))
    symlinkSync(path, path)
    // Longer than the half second after which each connection looks by itself.
    const since = performance.now()
    while (performance.now() - since < 700) assert.equal((await service.send('GET', '/v1/pets')).status, 503)
    assert.equal((await service.create({ name: 'Kim', categoryId: 8 })).status, 503)
    renameSync(join(folder, 'elsewhere'), path)
    assert.equal((await service.send('GET', '/v1/pets')).status, 200)
    assert.equal((await service.create({ name: 'Kim', categoryId: 8 })).status, 201)
  })

  test('a stored key is not called invalid: the answer is 503', async t => {
    const cwd = temporaryFolder(t)
    const { address, said } = await serve(t, [], { cwd })
    const key = await said(/(as_live_\w{38})/)
    renameSync(join(cwd, 'data'), join(cwd, 'elsewhere'))
    const { send, close } = client(address, key)
    t.after(close)
    assert.equal((await send('GET', '/v1/pets')).status, 503)
    renameSync(join(cwd, 'elsewhere'), join(cwd, 'data'))
    assert.equal((await send('GET', '/v1/pets')).status, 200)
  })
})
