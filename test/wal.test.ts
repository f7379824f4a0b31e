// The write-ahead log (WAL) of a running service is removed, replaced, truncated or overwritten: no animal that is acknowledged
// later is lost, and the service recovers without help.

import assert from 'node:assert/strict'
import { copyFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { serve } from './support/command.ts'
import { API_KEY, client, temporaryFolder } from './support/service.ts'
import { queryValue } from './support/sqlite.ts'
import { waitUntil } from './support/wait.ts'

const env = { ANIMAL_STORE_API_KEY: API_KEY }

interface Damage {
  /** Called before the animals that must survive are created. */
  readonly prepare?: (path: string) => void
  readonly damage: (path: string) => void
  /** Whether it is also tested with two processes on one file. */
  readonly hasWorkers?: boolean
  /** Whether the animals from before are lost, because the WAL that held them was truncated or overwritten. */
  readonly losesEarlier?: boolean
}

const DAMAGES: Record<string, Damage> = {
  removed: { damage: path => rmSync(`${path}-wal`), hasWorkers: true },
  'removed, with its index': {
    damage: path => {
      rmSync(`${path}-wal`)
      rmSync(`${path}-shm`)
    },
    hasWorkers: true,
  },
  'replaced by an older copy': {
    prepare: path => copyFileSync(`${path}-wal`, `${path}-copy`),
    damage: path => renameSync(`${path}-copy`, `${path}-wal`),
  },
  emptied: { damage: path => truncateSync(`${path}-wal`), losesEarlier: true, hasWorkers: true },
  'overwritten with zeros': {
    damage: path => writeFileSync(`${path}-wal`, Buffer.alloc(statSync(`${path}-wal`).size)),
    losesEarlier: true,
    hasWorkers: true,
  },
  'cut in the middle of a transaction': {
    damage: path => truncateSync(`${path}-wal`, statSync(`${path}-wal`).size - 5_000),
    losesEarlier: true,
  },
}

interface Running {
  /** Returns the status. */
  create(name: string): Promise<number>
  isReady(): Promise<boolean>
  names(): Promise<string[]>
  kill(): Promise<void>
}

async function run(t: TestContext, cwd: string, flags: readonly string[] = []): Promise<Running> {
  const { address, child, ended } = await serve(t, flags, { cwd, env, isGroup: true })
  const { send, close } = client(address)
  t.after(close)
  return {
    async create(name) {
      const headers = { 'content-type': 'application/json' }
      const reply = await send('POST', '/v1/pets', { headers, body: JSON.stringify({ name, categoryId: 1 }) })
      return reply.status
    },
    isReady: async () => (await send('GET', '/readyz')).status === 200,
    async names() {
      const { json } = await send('GET', '/v1/pets?limit=100')
      return (json as { name: string }[]).map(({ name }) => name)
    },
    async kill() {
      process.kill(-Number(child.pid), 'SIGKILL')
      await ended
    },
  }
}

/** Creates animals until so many are stored. Returns their names. */
async function createAll(service: Running, prefix: string, count: number): Promise<string[]> {
  const acknowledged: string[] = []
  let attempts = 0
  const isDone = async () => {
    const name = `${prefix} ${attempts++}`
    const status = await service.create(name)
    assert.ok(status === 201 || status === 503, String(status))
    if (status === 201) acknowledged.push(name)
    return acknowledged.length === count
  }
  await waitUntil(isDone, { what: `${count} animals are stored` })
  return acknowledged
}

function assertStored(names: readonly string[], expected: readonly string[]): void {
  assert.deepEqual(
    expected.filter(name => !names.includes(name)),
    [],
  )
}

suite('the write-ahead log is', { concurrency: 2 }, () => {
  for (const [what, { prepare, damage, losesEarlier = false, hasWorkers = false }] of Object.entries(
    DAMAGES,
  )) {
    for (const flags of hasWorkers ? [[], ['--workers', '2']] : [[]]) {
      test(`${what}${flags.length > 0 ? ', with two workers' : ''}: later animals survive a kill -9`, async t => {
        const cwd = temporaryFolder(t)
        const path = join(cwd, 'data', 'production.db')
        const first = await run(t, cwd, flags)
        const earlier = await createAll(first, 'first', 1)
        prepare?.(path)
        earlier.push(...(await createAll(first, 'earlier', 10)))
        damage(path)
        const later = await createAll(first, 'later', 20)
        assertStored(await first.names(), losesEarlier ? later : [...earlier, ...later])
        await first.kill()
        const second = await run(t, cwd)
        assertStored(await second.names(), losesEarlier ? later : [...earlier, ...later])
        assert.equal(queryValue(path, 'pragma integrity_check'), 'ok')
      })
    }
  }

  test('removed: the service saves the content of the log before it is ready, even if no client writes', async t => {
    const cwd = temporaryFolder(t)
    const first = await run(t, cwd)
    const earlier = await createAll(first, 'earlier', 10)
    rmSync(join(cwd, 'data', 'production.db-wal'))
    await waitUntil(first.isReady, { what: 'the service is ready' })
    await first.kill()
    assert.deepEqual(await (await run(t, cwd)).names(), earlier)
  })
})
