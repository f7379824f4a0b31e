// The metrics: their names and labels, what they count, their listener, and the sum over worker processes.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { renameSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { unavailable } from '../src/error.ts'
import { createMetrics } from '../src/metrics/metrics.ts'
import { createAnimals } from './support/animals.ts'
import { type CommandOptions, MAIN, run, serve } from './support/command.ts'
import { childrenOf } from './support/processes.ts'
import { connectRaw } from './support/raw-http.ts'
import { assertNoKey } from './support/secrets.ts'
import { API_KEY, client, parseRaw, sendRaw, startTestService, temporaryFolder } from './support/service.ts'
import { runSql } from './support/sqlite.ts'
import { waitUntil } from './support/wait.ts'

const DURATION = 'animal_store_http_request_duration_seconds'

/** Returns the value of a sample, or undefined if there is none. */
function sampleOf(
  text: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  assertNoKey(text, 'the metrics')
  for (const [, sample, pairs = '', value] of text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
    const actual = Object.fromEntries(
      [...pairs.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key, text]),
    )
    const isSame = Object.entries(labels).every(([key, text]) => actual[key] === text)
    if (sample === name && isSame) return Number(value)
  }
  return undefined
}

function countOf(text: string, operation: string, status: number): number | undefined {
  return sampleOf(text, `${DURATION}_count`, { operation, status: String(status) })
}

async function startWithMetrics(t: TestContext) {
  const metrics = createMetrics(() => 0, { version: '1.2.3', lastBackup: async () => 1_795_054_800_000 })
  const service = await startTestService(t, { metrics, logLevel: 'silent' })
  return { metrics, service }
}

suite('the metrics of one process', () => {
  test('have these names and types', async t => {
    const { metrics } = await startWithMetrics(t)
    const text = await metrics.render()
    const types = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => `${name} ${type}`)
    assert.deepEqual(
      types.filter(line => line.startsWith('animal_store_')),
      [
        'animal_store_build_info gauge',
        'animal_store_last_backup_timestamp_seconds gauge',
        'animal_store_http_request_duration_seconds histogram',
        'animal_store_creations_per_commit histogram',
        'animal_store_creations_waiting gauge',
        'animal_store_connections gauge',
        'animal_store_database_up gauge',
        'animal_store_outage gauge',
        'animal_store_deprecated_requests_total counter',
        'animal_store_log_lines_dropped_total counter',
      ],
    )
    assert.equal(
      sampleOf(text, 'animal_store_build_info', { version: '1.2.3', node: process.versions.node }),
      1,
    )
    assert.equal(sampleOf(text, 'animal_store_last_backup_timestamp_seconds'), 1_795_054_800)
    for (const name of ['process_resident_memory_bytes', 'nodejs_heap_size_used_bytes'])
      assert.ok(Number(sampleOf(text, name)) > 0, name)
  })

  test('count requests by operation and status, and their time', async t => {
    const { metrics, service } = await startWithMetrics(t)
    await service.create({ name: 'Bella', categoryId: 7 })
    await service.create({ name: 'Max' })
    for (const path of [
      '/v1/pets',
      '/v1/pets?limit=1',
      '/v1/pets/1',
      '/v1/pets/2',
      '/v1/store/inventory',
      '/livez',
      '/nothing',
      '/v1',
    ])
      await service.send('GET', path)
    await service.send('HEAD', '/v1/pets')
    await service.send('DELETE', '/v1/pets')
    await service.send('POST', '/v1/pets/1')
    await service.send('GET', '/v1/pets', { headers: { authorization: '' } })
    const text = await metrics.render()
    const rows = [
      ['createPet', 201, 1],
      ['createPet', 400, 1],
      ['listPets', 200, 3],
      ['listPets', 401, 1],
      ['getPet', 200, 1],
      ['getPet', 404, 1],
      ['getInventory', 200, 1],
      ['other', 200, 1],
      ['other', 404, 2],
      ['other', 405, 2],
    ] as const
    for (const [operation, status, count] of rows)
      assert.equal(countOf(text, operation, status), count, `${operation} ${status}`)
    const labels = { operation: 'createPet', status: '201' }
    const sum = Number(sampleOf(text, `${DURATION}_sum`, labels))
    assert.ok(sum > 0 && sum < 60, `${sum} s`)
    assert.equal(sampleOf(text, `${DURATION}_bucket`, { ...labels, le: '+Inf' }), 1)
    assert.equal(sampleOf(text, `${DURATION}_bucket`, { ...labels, le: '0.0005' }), 0)
  })

  test('count what the HTTP parser rejects', async t => {
    const { metrics, service } = await startWithMetrics(t)
    await sendRaw(service.address, 'nonsense\r\n\r\n')
    await sendRaw(service.address, `GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`)
    await sendRaw(service.address, 'CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n')
    const text = await metrics.render()
    assert.equal(countOf(text, 'other', 400), 2)
    assert.equal(countOf(text, 'other', 431), 1)
  })

  test('count the creations of each commit, and the open connections', async t => {
    const { metrics, service } = await startWithMetrics(t)
    const clients = Array.from({ length: 10 }, () => client(service.address))
    t.after(() => {
      for (const { close } of clients) close()
    })
    const headers = { 'content-type': 'application/json' }
    const body = '{"name":"Bella","categoryId":7}'
    await Promise.all(clients.map(({ send }) => send('POST', '/v1/pets', { headers, body })))
    const text = await metrics.render()
    assert.equal(sampleOf(text, 'animal_store_creations_per_commit_sum'), 10)
    const commits = Number(sampleOf(text, 'animal_store_creations_per_commit_count'))
    assert.ok(commits >= 1 && commits <= 10)
    assert.equal(sampleOf(text, 'animal_store_creations_waiting'), 0)
    assert.equal(sampleOf(text, 'animal_store_connections'), 10)
  })

  test('show the creations that wait for the next commit', async t => {
    const { metrics, service } = await startWithMetrics(t)
    // A batch starts in the next event-loop turn at the earliest, and the gauges are read in this one.
    const created = createAnimals(service.store, [{ animal: { name: 'Bella', categoryId: 1n } }])
    const rendered = metrics.render()
    await created
    assert.equal(sampleOf(await rendered, 'animal_store_creations_waiting'), 1)
    assert.equal(sampleOf(await metrics.render(), 'animal_store_creations_waiting'), 0)
  })

  test('show whether the database can be used, checked at each scrape', async t => {
    const { metrics, service } = await startWithMetrics(t)
    const up = async () => sampleOf(await metrics.render(), 'animal_store_database_up')
    // On a busy machine a check may take longer than a scrape waits for it.
    const isUp = async () => (await up()) === 1
    await waitUntil(isUp, { what: 'the database is up' })
    const { ping } = service.store
    const isDown = async () => (await up()) === 0
    service.store.ping = () => Promise.reject(new Error('no database'))
    await waitUntil(isDown, { what: 'the database is down' })
    service.store.ping = ping
    await waitUntil(isUp, { what: 'the database is up again' })
    // A database that does not answer must not hold up the scrape.
    service.store.ping = () => new Promise(() => {})
    await waitUntil(isDown, { what: 'the database is down again' })
  })

  test('show an outage of writes until one succeeds', async t => {
    const { metrics, service } = await startWithMetrics(t)
    const outage = async () => sampleOf(await metrics.render(), 'animal_store_outage')
    assert.equal(await outage(), 0)
    const { write } = service.store
    service.store.write = () => Promise.reject(unavailable({ cause: new Error('the disk is full') }))
    await service.create({ name: 'Bella', categoryId: 7 })
    service.store.write = write
    assert.equal((await service.send('GET', '/v1/pets')).status, 200)
    assert.equal(await outage(), 1)
    await service.create({ name: 'Bella', categoryId: 7 })
    await waitUntil(async () => (await outage()) === 0, { what: 'it is over' })
  })

  test('count the use of the deprecated operation by the id of the key', async t => {
    const { metrics, service } = await startWithMetrics(t)
    await service.send('GET', '/v1/pets/1')
    await service.send('HEAD', '/v1/pets/x')
    await service.send('GET', '/v1/pets/1', { headers: { authorization: 'Bearer wrong' } })
    await service.send('GET', '/v1/pets')
    const text = await metrics.render()
    assert.deepEqual(text.match(/^animal_store_deprecated_requests_total.*$/gm), [
      'animal_store_deprecated_requests_total{key_id="environment"} 2',
    ])
  })

  test('have a bounded number of keys', async () => {
    const metrics = createMetrics(() => 0)
    for (let count = 0; count < 1_500; count++) metrics.observeRequest('getPet', 200, 1, `key_${count}`)
    const text = await metrics.render()
    assert.equal(sampleOf(text, 'animal_store_deprecated_requests_total', { key_id: 'other' }), 500)
  })

  test('contain no key, name or address', async t => {
    const { metrics, service } = await startWithMetrics(t)
    await service.create({ name: 'SECRET-NAME', categoryId: 1 }, { 'idempotency-key': 'SECRET-IDEMPOTENCY' })
    await service.send('GET', '/v1/pets/1?x=SECRET-QUERY')
    await service.send('GET', '/v1/SECRET-PATH', { headers: { authorization: 'Bearer SECRET-BEARER' } })
    await sendRaw(service.address, 'SECRET-METHOD / HTTP/1.1\r\n\r\n')
    const text = await metrics.render()
    assert.doesNotMatch(text, /SECRET|127\.0\.0\.1/)
    assert.ok(!text.includes(API_KEY))
  })
})

suite('the listener of the metrics', { concurrency: 3 }, () => {
  async function serveMetrics(
    t: TestContext,
    args: readonly string[] = [],
    options: Partial<CommandOptions> = {},
  ) {
    const running = await serve(t, ['--metrics-port', '0', ...args], {
      cwd: temporaryFolder(),
      env: { ANIMAL_STORE_API_KEY: API_KEY, SHUTDOWN_DELAY: '0s' },
      isGroup: true,
      ...options,
    })
    const url = await running.said(/The metrics are at (http:\S+)/)
    const scrape = async () => (await fetch(url)).text()
    return { ...running, url, scrape }
  }

  test('serves GET and HEAD of /metrics, and rejects everything else with the error object', async t => {
    const { address, url, scrape, child, ended } = await serveMetrics(t)
    const isUp = async () => sampleOf(await scrape(), 'animal_store_database_up') === 1
    await waitUntil(isUp, { what: 'the database is up' })
    const answer = await fetch(url)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
    const head = await fetch(url, { method: 'HEAD' })
    assert.equal(head.status, 200)
    assert.equal(await head.text(), '')
    for (const [method, path, status, code] of [
      ['GET', '/v1/pets', 404, 'not_found'],
      ['GET', '/', 404, 'not_found'],
      ['POST', '/readyz', 405, 'method_not_allowed'],
      ['GET', '/metrics/', 404, 'not_found'],
      ['POST', '/metrics', 405, 'method_not_allowed'],
    ] as const) {
      const refused = await fetch(new URL(path, url), { method })
      assert.equal(refused.status, status)
      assert.equal(refused.headers.get('allow'), status === 405 ? 'GET, HEAD' : null)
      assert.equal(refused.headers.get('cache-control'), 'no-store')
      assert.equal(((await refused.json()) as { code: string }).code, code)
    }
    assert.equal((await fetch(`${address}/metrics`)).status, 404)
    child.kill('SIGTERM')
    assert.equal((await ended).code, 0)
  })

  for (const workers of ['1', '2']) {
    test(`serves the health checks, with ${workers} workers`, async t => {
      const cwd = temporaryFolder()
      const { url, child, address } = await serveMetrics(
        t,
        ['--workers', workers, '--shutdown-delay', '5s'],
        {
          cwd,
        },
      )
      const check = (path: string, origin = url) => fetch(new URL(path, origin))
      const isReady = async () => (await check('/readyz')).status === 200
      await waitUntil(isReady, { what: 'it is ready' })
      const live = await check('/livez')
      assert.deepEqual([live.status, await live.text()], [200, '{"status":"ok"}'])
      const head = await fetch(new URL('/readyz', url), { method: 'HEAD' })
      assert.deepEqual([head.status, await head.text()], [200, ''])

      rmSync(join(cwd, 'data', 'production.db-wal'))
      const isUnready = async () => (await check('/readyz')).status === 503
      await waitUntil(isUnready, { what: 'it is not ready' })
      const refused = await check('/readyz')
      assert.equal(((await refused.json()) as { code: string }).code, 'unavailable')
      assert.equal((await check('/livez')).status, 200)
      child.kill('SIGTERM')
      await waitUntil(async () => (await check('/livez', address)).headers.get('connection') === 'close', {
        what: 'it stops',
      })
      assert.equal((await check('/livez')).status, 200)
      assert.equal((await check('/readyz')).status, 503)
    })
  }

  test('starts an outage in the log with a health check that fails', async t => {
    const cwd = temporaryFolder()
    const { url, printed } = await serveMetrics(t, [], { cwd })
    runSql(join(cwd, 'data', 'production.db'), 'alter table inventory rename to elsewhere')
    const isUnready = async () => (await fetch(new URL('/readyz', url))).status === 503
    await waitUntil(isUnready, { what: 'it is not ready' })
    const isLogged = () => printed.out.includes('the database is unavailable')
    await waitUntil(isLogged, { what: 'it is logged' })
    runSql(join(cwd, 'data', 'production.db'), 'alter table elsewhere rename to inventory')
    await waitUntil(() => printed.out.includes('the database is available again'), {
      what: 'its end is logged',
    })
  })

  test('answers malformed requests with the error object', async t => {
    const { url } = await serveMetrics(t)
    for (const request of ['nonsense\r\n\r\n', 'GET /metrics HTTP/1.1\r\nconnection: close\r\n\r\n']) {
      const { status, json } = parseRaw(await sendRaw(new URL(url).origin, request))
      assert.deepEqual([status, (json as { code: string }).code], [400, 'invalid_request'])
    }
  })

  test('logs what it does to connections, and no scrape', async t => {
    const { url, scrape, printed } = await serveMetrics(t)
    await scrape()
    const { origin } = new URL(url)
    for (let count = 0; count <= 100; count++) connectRaw(origin)
    await waitUntil(() => printed.out.includes('closed connections that waited'), { what: 'it is logged' })
    assert.doesNotMatch(printed.out, /"msg":"request"/)
  })

  test('is not started if its port is taken, and neither is the service', async t => {
    const taken = createServer().listen(0, '127.0.0.1')
    t.after(() => taken.close())
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    for (const workers of ['1', '2']) {
      const args = ['serve', '--port', '0', '--metrics-port', String(port), '--workers', workers]
      const { code, err } = await run(t, args, { cwd: temporaryFolder() })
      assert.equal(code, 1)
      assert.equal(
        err,
        `Cannot listen on 127.0.0.1, port ${port}: the port is taken. Choose another one with --metrics-port.\n`,
      )
    }
  })

  test('counts the log lines that were dropped', async t => {
    const program = ['sh', '-c', 'exec "$@" > /dev/full', 'sh', process.execPath, MAIN]
    const { address, scrape } = await serveMetrics(t, [], { program })
    await fetch(`${address}/livez`)
    const isCounted = async () =>
      Number(sampleOf(await scrape(), 'animal_store_log_lines_dropped_total')) >= 2
    await waitUntil(isCounted, { what: 'both lines are counted' })
  })

  test('says that the database is down if one of the workers cannot use it', async t => {
    const cwd = temporaryFolder()
    const { address, child, scrape } = await serveMetrics(t, ['--workers', '2'], { cwd })
    const up = async () => sampleOf(await scrape(), 'animal_store_database_up')
    await waitUntil(async () => (await up()) === 1, { what: 'both workers can use the database' })
    const path = join(cwd, 'data', 'production.db')
    runSql(path, `vacuum into '${path}-new'`)
    renameSync(`${path}-new`, path)
    const readiness = () => fetch(`${address}/readyz`, { headers: { connection: 'close' } })
    const losers = new Set<string>()
    const haveBothLostIt = async () => {
      const { status, headers } = await readiness()
      if (status === 503) losers.add(String(headers.get('x-request-id')).split('-')[0] ?? '')
      return losers.size === 2
    }
    await waitUntil(haveBothLostIt, { what: 'both workers have lost the database' })
    // The worker that takes its place opens the new file.
    process.kill(Number(childrenOf(child.pid)[0]), 'SIGKILL')
    const isReady = async () => (await readiness().catch(() => undefined))?.status === 200
    await waitUntil(isReady, { what: 'one of the workers is ready' })
    assert.equal(await up(), 0)
  })

  test('adds up the metrics of all workers', async t => {
    const { address, child, scrape } = await serveMetrics(t, ['--workers', '2'])
    const { send, close } = client(address)
    t.after(close)
    for (let count = 0; count < 5; count++) await send('GET', '/v1/pets')
    // Which worker accepts a connection depends on how busy each is.
    let others = 0
    const ids = new Set<string>()
    const haveBothAnswered = async () => {
      const { headers } = await fetch(`${address}/livez`, { headers: { connection: 'close' } })
      others++
      ids.add(String(headers.get('x-request-id')).split('-')[0] ?? '')
      return ids.size === 2
    }
    await waitUntil(haveBothAnswered, { what: 'both workers have answered' })
    const isComplete = async () => countOf(await scrape(), 'other', 200) === others
    await waitUntil(isComplete, { what: 'the requests to both workers are counted' })
    const isUp = async () => sampleOf(await scrape(), 'animal_store_database_up') === 1
    await waitUntil(isUp, { what: 'both workers can use the database' })
    const text = await scrape()
    assert.equal(countOf(text, 'listPets', 200), 5)
    assert.ok(Number(sampleOf(text, 'process_start_time_seconds')) > 0)

    // A worker that does not answer must not break the scrape, and no counter may decrease when it has ended.
    const [frozen] = childrenOf(child.pid)
    process.kill(Number(frozen), 'SIGSTOP')
    assert.equal(countOf(await scrape(), 'listPets', 200), 5)
    process.kill(Number(frozen), 'SIGKILL')
    const isReplaced = () => {
      const workers = childrenOf(child.pid)
      return workers.length === 2 && !workers.includes(Number(frozen))
    }
    await waitUntil(isReplaced, { what: 'the worker is replaced' })
    for (let count = 0; count < 2; count++) {
      assert.equal(countOf(await scrape(), 'listPets', 200), 5)
      assert.equal(countOf(await scrape(), 'other', 200), others)
    }
  })
})
