// Several worker processes on one port: they serve like one, are replaced if they die, and stop together.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { suite, test } from 'node:test'
import { type CommandOptions, type Ended, run, serve } from '../support/command.ts'
import { assertInventory } from '../support/inventory.ts'
import { borrowDatabase } from '../support/postgres.ts'
import { childrenOf, isRunning } from '../support/processes.ts'
import { connectRaw, requestHead, statusesOf } from '../support/raw-http.ts'
import { API_KEY, client, type Scope, shared, temporaryFolder } from '../support/service.ts'
import { waitUntil } from '../support/wait.ts'

const DATABASES: Record<string, (t: Scope) => Promise<string>> = {
  SQLite: async () => 'sqlite:animals.db',
  PostgreSQL: borrowDatabase,
}

/** Retries while another process holds the lock of the database for too long. */
async function runUntilDone(t: Scope, args: readonly string[], options: CommandOptions): Promise<Ended> {
  for (let triesLeft = 5; ; triesLeft--) {
    const ended = await run(t, args, options)
    if (ended.code === 0) return ended
    assert.ok(triesLeft > 0, ended.err)
  }
}

for (const [database, open] of Object.entries(DATABASES)) {
  suite(`workers, on ${database}`, { concurrency: 3 }, () => {
    async function startWorkers(t: Scope, env: Record<string, string> = {}) {
      const cwd = temporaryFolder()
      const options = { cwd, env: { DATABASE_URL: await open(t), SHUTDOWN_DELAY: '0s', ...env } }
      // As a group, so that all workers are killed at the end of the test.
      const running = await serve(t, ['--workers', '3'], { ...options, isGroup: true })
      return { ...running, options }
    }

    /**
     * Each client has its own connection, so that every worker gets some. They are patient because the workers have the time-outs of
     * the service: on a busy machine, PostgreSQL or the worker that holds the lock of SQLite may be too slow for them.
     */
    function clientsOf(t: Scope, address: string, apiKey?: string) {
      const clients = Array.from({ length: 12 }, () => client(address, apiKey, true))
      t.after(() => {
        for (const { close } of clients) close()
      })
      return clients
    }

    const service = shared(async t => {
      const running = await startWorkers(t)
      return { ...running, key: await running.said(/^ {2}(as_live_\w+)$/m) }
    })

    test('three processes answer on one port, and the first key is printed once', async t => {
      const { address, child, key, printed } = service()
      assert.equal(childrenOf(child.pid).length, 3)
      assert.equal(printed.err.match(/as_live_\w+\n/g)?.length, 1)
      const prefixes = new Set<string>()
      // Which worker accepts a connection depends on how busy each is.
      const haveAllAnswered = async () => {
        for (const { send } of clientsOf(t, address, key)) {
          const { status, headers } = await send('GET', '/v1/pets')
          assert.equal(status, 200)
          prefixes.add(String(headers['x-request-id']).split('-')[0] ?? '')
        }
        return prefixes.size >= 3
      }
      await waitUntil(haveAllAnswered, { what: 'every worker has answered' })
      assert.equal(prefixes.size, 3)
    })

    test('a hundred requests with one Idempotency-Key create one animal, which every worker lists immediately', async t => {
      const { address, key } = service()
      const clients = clientsOf(t, address, key)
      // On SQLite, each worker that gets this request caches the first page, which the creation then changes.
      await Promise.all(clients.map(({ send }) => send('GET', '/v1/pets')))
      const creation = {
        headers: { 'content-type': 'application/json', 'idempotency-key': 'one' },
        body: '{"name":"Bella","categoryId":7}',
      }
      const replies = await Promise.all(
        Array.from({ length: 100 }, (_, index) => {
          const { send } = clients[index % clients.length] as (typeof clients)[number]
          return send('POST', '/v1/pets', creation)
        }),
      )
      assert.deepEqual([...new Set(replies.map(({ status }) => status))], [201])
      assert.equal(new Set(replies.map(({ text }) => text)).size, 1)
      for (const { send } of clients) {
        const { text } = await send('GET', '/v1/pets')
        assert.equal(text, `[${replies[0]?.text}]`)
        const inventory = await send('GET', '/v1/store/inventory')
        assert.equal(inventory.text, '{"available":0,"pending":0,"sold":0,"none":1}')
      }
    })

    test('every worker counts what all of them store', async t => {
      const { address } = await startWorkers(t, { ANIMAL_STORE_API_KEY: API_KEY })
      const clients = clientsOf(t, address)
      const statuses = ['available', 'sold', undefined]
      await Promise.all(
        clients.map(async ({ create }, index) => {
          const animal = { name: `of client ${index}`, categoryId: 7, status: statuses[index % 3] }
          for (let count = 0; count < 10; count++) {
            const headers = { 'idempotency-key': `${index}-${count}` }
            assert.equal((await create(animal, headers)).status, 201)
          }
        }),
      )
      for (const each of clients) {
        assert.deepEqual(await assertInventory(each), { available: 40n, pending: 0n, sold: 40n, none: 40n })
      }
    })

    test('a key that expires soon is reported once, although every worker is asked with it', async t => {
      const { address, options, printed, child, ended } = await startWorkers(t)
      const create = ['keys', 'create', '--name', 'soon', '--expires', '10d', '--json']
      const { id, key } = JSON.parse((await runUntilDone(t, create, options)).out)
      const prefixes = new Set<string>()
      const haveAllAnswered = async () => {
        for (const { send } of clientsOf(t, address, key))
          prefixes.add(String((await send('GET', '/v1/pets')).headers['x-request-id']).split('-')[0] ?? '')
        return prefixes.size >= 3
      }
      await waitUntil(haveAllAnswered, { what: 'every worker has answered' })
      await waitUntil(() => printed.out.includes('expires soon'), { what: 'it is reported' })
      // A worker that stops reports what it has not reported yet.
      child.kill('SIGTERM')
      assert.equal((await ended).code, 0)
      const reports = printed.out.split('\n').filter(line => line.includes('expires soon'))
      assert.equal(reports.length, 1)
      assert.equal(JSON.parse(reports[0] ?? '').keyId, id)
      const keys = JSON.parse((await runUntilDone(t, ['keys', 'list', '--json'], options)).out)
      assert.match(keys.find((each: { id: string }) => each.id === id).lastUsed, /^\d{4}-\d\d-\d\d$/)
    })

    test('every worker soon rejects a key that was revoked', async t => {
      const { address, options } = service()
      const { out } = await runUntilDone(t, ['keys', 'create', '--name', 'revoked', '--json'], options)
      const { id, key } = JSON.parse(out)
      const clients = clientsOf(t, address, key)
      for (const { send } of clients) {
        const isAccepted = async () => (await send('GET', '/v1/pets')).status === 200
        await waitUntil(isAccepted, { what: 'the key is accepted' })
      }
      await runUntilDone(t, ['keys', 'revoke', id], options)
      for (const { send } of clients) {
        const isRejected = async () => (await send('GET', '/v1/pets')).status === 401
        await waitUntil(isRejected, { what: 'the key is rejected' })
      }
    })

    test('a killed worker is replaced, and SIGTERM stops all of them', async t => {
      const { address, child, printed, ended } = await startWorkers(t, { ANIMAL_STORE_API_KEY: API_KEY })
      const before = childrenOf(child.pid)
      process.kill(before[0] as number, 'SIGKILL')
      const line = /\{"level":50,"time":\d+,"reason":"SIGKILL","msg":"a worker ended; starting another one"\}/
      await waitUntil(() => line.test(printed.out), { what: 'the log says so' })
      await waitUntil(() => childrenOf(child.pid).length === 3, { what: 'the worker is replaced' })
      const [first] = clientsOf(t, address)
      const isServed = async () => (await first?.send('GET', '/v1/pets'))?.status === 200
      await waitUntil(isServed, { what: 'a request is served' })
      const all = childrenOf(child.pid)
      child.kill('SIGTERM')
      assert.equal((await ended).code, 0)
      assert.deepEqual(all.filter(isRunning), [])
    })

    test('workers end when their primary process is killed', async t => {
      const { child, ended } = await startWorkers(t, { ANIMAL_STORE_API_KEY: API_KEY })
      const all = childrenOf(child.pid)
      child.kill('SIGKILL')
      await ended
      await waitUntil(() => !all.some(isRunning), { what: 'all workers have ended' })
    })
  })
}

suite('workers', () => {
  test('answer a request in flight when their primary process is killed', async t => {
    const { address, child } = await serve(t, ['--workers', '2'], {
      cwd: temporaryFolder(),
      env: { ANIMAL_STORE_API_KEY: API_KEY },
      isGroup: true,
    })
    const { socket, received, closed } = connectRaw(address)
    const body = '{"name":"Bella","categoryId":7}'
    socket.write(
      requestHead(
        'POST /v1/pets HTTP/1.1',
        'host: x',
        `authorization: Bearer ${API_KEY}`,
        'content-type: application/json',
        `content-length: ${body.length}`,
        'expect: 100-continue',
      ),
    )
    await waitUntil(() => received().startsWith('HTTP/1.1 100 '), { what: 'the request is in flight' })
    child.kill('SIGKILL')
    await once(child, 'exit')
    socket.write(body)
    assert.deepEqual(statusesOf(await closed), [100, 201])
  })

  test('answer or close every connection when one of them freezes and dies', async t => {
    const { address, child } = await serve(t, ['--workers', '2', '--shutdown-delay', '0s'], {
      cwd: temporaryFolder(),
      isGroup: true,
    })
    const frozen = Number(childrenOf(child.pid)[0])
    process.kill(frozen, 'SIGSTOP')
    const connections = Array.from({ length: 10 }, () => {
      const { socket, closed } = connectRaw(address)
      socket.write(requestHead('GET /livez HTTP/1.1', 'host: x', 'connection: close'))
      return { isConnected: once(socket, 'connect'), closed }
    })
    await Promise.all(connections.map(({ isConnected }) => isConnected))
    process.kill(frozen, 'SIGKILL')
    // A connection that is reset is closed, too.
    const answers = await Promise.all(connections.map(({ closed }) => closed.catch(() => '')))
    for (const answer of answers) assert.match(answer, /^(HTTP\/1\.1 200 OK\r\n|$)/)
    const isReplaced = () => {
      const running = childrenOf(child.pid)
      return running.length === 2 && !running.includes(frozen)
    }
    await waitUntil(isReplaced, { what: 'the worker is replaced' })
  })

  test('print once why they cannot start', async t => {
    const cwd = temporaryFolder()
    const { address } = await serve(t, [], { cwd })
    const port = new URL(address).port
    const { code, err } = await run(t, ['serve', '--workers', '2', '--port', port], { cwd })
    assert.equal(code, 1)
    assert.equal(err.match(/the port is taken/g)?.length, 1)
  })

  test('--workers auto starts one process for each core', async t => {
    const cores = availableParallelism()
    const { child, printed } = await serve(t, ['--workers', 'auto'], {
      cwd: temporaryFolder(),
      isGroup: true,
    })
    // With one core, the process itself serves.
    assert.equal(childrenOf(child.pid).length, cores === 1 ? 0 : cores)
    assert.equal(printed.err.includes(`, ${cores} workers)`), cores > 1)
  })
})
