// Several processes on one port: the same promises as one.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, type TestContext, test } from 'node:test'
import { run, serve, start } from './support/command.ts'
import { borrowDatabase } from './support/postgres.ts'
import { API_KEY, client, type Reply, temporaryFolder } from './support/service.ts'

const DATABASES: Record<string, (t: TestContext) => Promise<string>> = {
  SQLite: async () => 'sqlite:animals.db',
  PostgreSQL: borrowDatabase,
}

/** The processes that a process has started. */
function childrenOf(pid: number | undefined): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter(Boolean)
    .map(Number)
}

/** Where a disk stalls, one process waits too long for the lock of another, and the client is to ask again. */
async function createOnce(send: ReturnType<typeof client>['send']): Promise<Reply> {
  for (let triesLeft = 5; ; triesLeft--) {
    const reply = await send('POST', '/v1/pets', {
      headers: { 'content-type': 'application/json', 'idempotency-key': 'one' },
      body: '{"name":"Bella","categoryId":7}',
    })
    if (reply.status !== 503 || triesLeft === 0) return reply
    assert.equal(reply.headers['retry-after'], '1')
    await new Promise(resolve => setTimeout(resolve, 1_000))
  }
}

for (const [database, open] of Object.entries(DATABASES)) {
  suite(`workers, on ${database}`, () => {
    async function startWorkers(t: TestContext, env: Record<string, string> = {}) {
      const cwd = temporaryFolder(t)
      const options = { cwd, env: { DATABASE_URL: await open(t), SHUTDOWN_DELAY: '0s', ...env } }
      // As a group, so that no worker is left to end by itself after its test.
      const running = await serve(t, ['--workers', '3'], { ...options, isGroup: true })
      return { ...running, options }
    }

    /** Connections of its own, so that every worker gets some. */
    function clientsOf(t: TestContext, address: string, apiKey?: string) {
      const clients = Array.from({ length: 12 }, () => client(address, apiKey))
      t.after(() => {
        for (const { close } of clients) close()
      })
      return clients
    }

    test('three processes answer on one port, and the first key is printed once', async t => {
      const { address, child, said, printed } = await startWorkers(t)
      const key = await said(/^ {2}(as_live_\w+)$/m)
      assert.equal(childrenOf(child.pid).length, 3)
      assert.equal(printed.err.match(/as_live_\w+\n/g)?.length, 1)
      const prefixes = new Set<string>()
      for (const { send } of clientsOf(t, address, key)) {
        const { status, headers } = await send('GET', '/v1/pets')
        assert.equal(status, 200)
        prefixes.add(String(headers['x-request-id']).split('-')[0] ?? '')
      }
      assert.equal(prefixes.size, 3)
    })

    test('one hundred posts with one key make one animal, and the next list of any worker has it', async t => {
      const { address } = await startWorkers(t, { ANIMAL_STORE_API_KEY: API_KEY })
      const clients = clientsOf(t, address)
      // Each worker has a first page in memory that will no longer be true.
      await Promise.all(clients.map(({ send }) => send('GET', '/v1/pets')))
      const replies = await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          createOnce((clients[index % clients.length] as (typeof clients)[number]).send),
        ),
      )
      assert.deepEqual([...new Set(replies.map(({ status }) => status))], [201])
      assert.equal(new Set(replies.map(({ text }) => text)).size, 1)
      for (const { send } of clients) {
        assert.equal((await send('GET', '/v1/pets')).text, `[${replies[0]?.text}]`)
      }
    })

    test('a revoked key is dead on every worker within 5 seconds', async t => {
      const { address, said, options } = await startWorkers(t)
      const clients = clientsOf(t, address, await said(/^ {2}(as_live_\w+)$/m))
      for (const { send } of clients) assert.equal((await send('GET', '/v1/pets')).status, 200)
      const { out } = await run(t, ['keys', 'list', '--json'], options)
      const revokedAt = performance.now()
      await run(t, ['keys', 'revoke', JSON.parse(out)[0].id], options)
      for (const { send } of clients) {
        while ((await send('GET', '/v1/pets')).status === 200)
          assert.ok(performance.now() - revokedAt < 5_000)
      }
    })

    test('a worker that is killed is replaced, and SIGTERM ends them all in good order', async t => {
      const { address, child, said, ended } = await startWorkers(t, { ANIMAL_STORE_API_KEY: API_KEY })
      const before = childrenOf(child.pid)
      process.kill(before[0] as number, 'SIGKILL')
      await said(/A worker has ended \(SIGKILL\); another one takes its place\./)
      while (childrenOf(child.pid).length < 3) await new Promise(resolve => setTimeout(resolve, 20))
      const [first] = clientsOf(t, address)
      assert.equal((await first?.send('GET', '/v1/pets'))?.status, 200)
      const all = childrenOf(child.pid)
      child.kill('SIGTERM')
      assert.equal((await ended).code, 0)
      for (const pid of all) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
    })

    test('workers do not outlive the process that watches over them', async t => {
      const { child, ended } = await startWorkers(t, { ANIMAL_STORE_API_KEY: API_KEY })
      const all = childrenOf(child.pid)
      child.kill('SIGKILL')
      await ended
      for (const pid of all) await gone(pid)
    })
  })
}

suite('workers', () => {
  test('what keeps them from starting is said once', async t => {
    const cwd = temporaryFolder(t)
    const { address } = await serve(t, [], { cwd })
    const port = new URL(address).port
    const { code, err } = await run(t, ['serve', '--workers', '2', '--port', port], { cwd })
    assert.equal(code, 1)
    assert.equal(err.match(/the port is taken/g)?.length, 1)
  })

  test('a database in memory cannot be shared', async t => {
    const { code, err } = await start(t, ['serve', '--workers', '2'], {
      cwd: temporaryFolder(t),
      env: { DATABASE_URL: 'sqlite::memory:' },
    }).ended
    assert.equal(code, 2)
    assert.match(err, /^--workers \(WORKERS\) needs a database that processes can share/)
  })

  for (const number of ['0', '-1', '1.5', '100', 'many']) {
    test(`--workers ${number} is refused`, async t => {
      const { code, err } = await run(t, ['serve', `--workers=${number}`], { cwd: temporaryFolder(t) })
      assert.equal(code, 2)
      assert.match(err, /--workers \(WORKERS\) must be auto, or a whole number from 1 to 99/)
    })
  }
})

async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
