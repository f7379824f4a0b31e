// The files of a SQLite database are removed, moved or replaced while the service uses them. From then on every process that has them
// open answers 503 until a restart, says so in one log line, writes to no file and ends as after a kill. Nothing that was
// acknowledged is lost, as long as it is in a file that still exists.

import assert from 'node:assert/strict'
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { run, serve, start as startCommand } from '../support/command.ts'
import { API_KEY, client, temporaryFolder } from '../support/service.ts'
import { animalNames, countAnimals, openTestStore, queryValue, runSql } from '../support/sqlite.ts'
import { waitUntil } from '../support/wait.ts'

interface ErrorLine {
  readonly level: number
  readonly msg: string
}

/** A service in which `first` and `second` were acknowledged. */
async function start(t: TestContext, workers = 1, cwd = temporaryFolder()) {
  const path = join(cwd, 'data', 'production.db')
  const service = await serve(t, ['--workers', String(workers), '--shutdown-delay', '0s'], {
    cwd,
    env: { ANIMAL_STORE_API_KEY: API_KEY },
    isGroup: true,
  })
  const { create, send, close } = client(service.address)
  t.after(close)
  const statusOf = async (name: string) => (await create({ name, categoryId: 1 })).status
  for (const name of ['first', 'second']) assert.equal(await statusOf(name), 201)
  const errors = () => {
    const lines = service.printed.out.split('\n').slice(0, -1)
    return lines.map(line => JSON.parse(line) as ErrorLine).filter(({ level }) => level >= 50)
  }
  return {
    ...service,
    path,
    create: statusOf,
    get: async (target: string) => (await send('GET', target)).status,
    errors,
    isReported: () =>
      waitUntil(() => errors().length === workers, { what: 'every process has noticed the loss' }),
    /** Ends it, and returns what is in the files then. */
    async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
      if (signal === 'SIGKILL') process.kill(-Number(service.child.pid), signal)
      else service.child.kill(signal)
      await service.ended
    },
  }
}

/** All files of the folder of the database, with their contents. */
function filesBeside(path: string): Record<string, string> {
  const folder = dirname(path)
  const names = readdirSync(folder).filter(name => !name.endsWith('-shm'))
  return Object.fromEntries(names.sort().map(name => [name, readFileSync(join(folder, name), 'base64')]))
}

/** What the database contains when it is opened without the service. */
async function stored(t: TestContext, path: string): Promise<string[]> {
  assert.equal(queryValue(path, 'pragma integrity_check'), 'ok')
  const store = openTestStore(t, path, { create: false })
  const names = await animalNames(store)
  await store.close()
  return names
}

/** Another process adds an animal. */
async function importAnimal(t: TestContext, path: string, name: string): Promise<void> {
  const args = ['import', '-', '--format', 'jsonl', '--database-url', `sqlite:${path}`]
  const input = `${JSON.stringify({ name, categoryId: 1 })}\n`
  const { code, err } = await run(t, args, { cwd: dirname(path), input })
  assert.equal(code, 0, err)
}

/** Another process, because this one must not open and close the files of the service. */
function runElsewhere(t: TestContext, path: string, sql: string) {
  const script = `
    const { DatabaseSync } = require('node:sqlite')
    const database = new DatabaseSync(${JSON.stringify(path)})
    database.exec(${JSON.stringify(sql)})
    console.error('running')
    setInterval(() => {}, 1000)`
  return startCommand(t, [], { cwd: dirname(path), program: [process.execPath, '-e', script] })
}

function isWriteLocked(path: string): boolean {
  try {
    runSql(path, 'begin immediate; rollback')
    return false
  } catch {
    return true
  }
}

const ALL = ['first', 'second']

interface Loss {
  readonly lose: (path: string) => void
  /** What the log says. */
  readonly message: RegExp
  /** Puts the files in the place where the restart finds them. */
  readonly repair?: (path: string) => void
  readonly left: readonly string[]
}

function move(path: string, from: string, to: string): void {
  for (const suffix of ['', '-wal', '-shm']) renameSync(path + from + suffix, path + to + suffix)
}

function replaceByCopy(path: string): void {
  copyFileSync(path, `${path}-copy`)
  renameSync(`${path}-copy`, path)
}

const LOSSES: Record<string, Loss> = {
  'the database is moved away': {
    lose: path => renameSync(path, `${path}-moved`),
    message: /production\.db was removed while it was in use\. .* put the same file and its -wal back/,
    repair: path => renameSync(`${path}-moved`, path),
    left: ALL,
  },
  'all files are moved away': {
    lose: path => move(path, '', '-moved'),
    message: /production\.db was removed while it was in use, .*-wal was removed .*, .*-shm was removed/,
    repair: path => move(path, '-moved', ''),
    left: ALL,
  },
  'the database is replaced by a backup': {
    lose(path) {
      runSql(path, `vacuum into '${path}-backup'`)
      renameSync(`${path}-backup`, path)
    },
    message: /production\.db was replaced while it was in use\. /,
    repair: path => rmSync(`${path}-wal`),
    left: ALL,
  },
  'the -wal is removed': {
    lose: path => rmSync(`${path}-wal`),
    message:
      /-wal was removed while it was in use\. .* Everything that it held was copied to .*production\.db/,
    left: ALL,
  },
  'the -wal and the -shm are removed': {
    lose(path) {
      rmSync(`${path}-shm`)
      rmSync(`${path}-wal`)
    },
    message: /-wal was removed while it was in use, .*-shm was removed .* Everything that it held was copied/,
    left: ALL,
  },
  'the -wal is replaced by a copy of itself': {
    lose: path => replaceByCopy(`${path}-wal`),
    message: /-wal was replaced while it was in use\. .* put the same file back/,
    left: ALL,
  },
  'the -wal is replaced by something else': {
    lose(path) {
      renameSync(`${path}-wal`, `${path}-moved`)
      writeFileSync(`${path}-wal`, 'not ours')
    },
    message: /-wal was replaced while it was in use\. .* put the same file back/,
    repair: path => renameSync(`${path}-moved`, `${path}-wal`),
    left: ALL,
  },
  'the -shm is removed': {
    lose: path => rmSync(`${path}-shm`),
    message: /-shm was removed while it was in use\. .* Leave .*-wal where it is/,
    left: ALL,
  },
  'the -shm is replaced': {
    lose: path => replaceByCopy(`${path}-shm`),
    message: /-shm was replaced while it was in use\. .* Leave .*-wal where it is/,
    left: ALL,
  },
}

suite('a service whose', { concurrency: 2 }, () => {
  for (const [what, { lose, message, repair, left }] of Object.entries(LOSSES)) {
    for (const workers of [1, 2]) {
      test(`${what}, with ${workers} workers: 503 until a restart, one log line, files as they are, nothing lost`, async t => {
        const service = await start(t, workers)
        const { path, get, create, errors } = service
        lose(path)
        await service.isReported()
        for (const { msg } of errors()) assert.match(msg, message)
        const files = filesBeside(path)
        for (const target of ['/v1/pets', '/v1/pets/1', '/v1/store/inventory', '/readyz'])
          assert.equal(await get(target), 503, target)
        assert.equal(await create('lost?'), 503)
        assert.equal(await get('/livez'), 200)
        await service.stop(workers === 1 ? 'SIGTERM' : 'SIGKILL')
        assert.equal(errors().length, workers)
        assert.deepEqual(filesBeside(path), files)
        repair?.(path)
        assert.deepEqual(await stored(t, path), left)
      })
    }
  }

  test('database comes back goes on with 503 all the same', async t => {
    const { path, get, create, isReported } = await start(t)
    renameSync(path, `${path}-moved`)
    assert.equal(await get('/v1/pets'), 503)
    renameSync(`${path}-moved`, path)
    await isReported()
    assert.equal(await get('/v1/pets'), 503)
    assert.equal(await create('lost?'), 503)
  })

  test('files are lost ends with SIGKILL, after its log is written, so that its manager starts it again', async t => {
    const { path, child, ended, isReported } = await start(t)
    rmSync(`${path}-shm`)
    await isReported()
    child.kill('SIGTERM')
    const { signal, out } = await ended
    assert.equal(signal, 'SIGKILL')
    assert.match(out, /"msg":"stopped"/)
  })

  test('-wal is removed serves after a restart what it and a command have stored', async t => {
    const { path, isReported, stop } = await start(t)
    rmSync(`${path}-wal`)
    await isReported()
    await importAnimal(t, path, 'imported')
    await stop()
    assert.deepEqual(await stored(t, path), [...ALL, 'imported'])
  })

  test('-wal is removed while another process reads it says that it could not be copied', async t => {
    const { path, errors, isReported } = await start(t)
    await runElsewhere(t, path, 'begin; select * from animals').said(/running/)
    rmSync(`${path}-wal`)
    await isReported()
    assert.match(errors()[0]?.msg ?? '', /could not be copied to .* \(another process is using it\)/)
  })

  test('-wal is removed while another process copies it waits for that', async t => {
    const { path, get, errors, isReported } = await start(t)
    const reader = runElsewhere(t, path, 'begin; select * from animals')
    await reader.said(/running/)
    runElsewhere(t, path, 'pragma busy_timeout = 60000; pragma wal_checkpoint(truncate)')
    await waitUntil(() => isWriteLocked(path), { what: 'the other process waits for the reader' })
    rmSync(`${path}-wal`)
    const answer = get('/v1/pets')
    // The service blocks while it tries to copy, so its first attempt cannot be seen from outside.
    await delay(500)
    reader.child.kill('SIGKILL')
    assert.equal(await answer, 503)
    await isReported()
    assert.match(errors()[0]?.msg ?? '', /Everything that it held was copied/)
  })

  test('-wal is removed during a write does not acknowledge it', async t => {
    const { path, create } = await start(t)
    const statuses: number[] = []
    const creations = Array.from({ length: 50 }, async (_, index) => {
      const status = await create(`a${index}`)
      // The loss comes between two commits at any point of the others.
      if (index === 0) rmSync(`${path}-wal`)
      statuses.push(status)
    })
    await Promise.all(creations)
    assert.equal(await create('lost?'), 503)
    const acknowledged = statuses.filter(status => status === 201).length
    assert.ok(Number(countAnimals(path)) >= acknowledged + ALL.length)
  })
})

test('a command that has lost the -shm file fails, and takes nothing from other processes', async t => {
  const cwd = temporaryFolder()
  const path = join(cwd, 'a.db')
  const line = `${JSON.stringify({ name: 'a', categoryId: 1 })}\n`
  const args = ['import', '-', '--format', 'jsonl', '--database-url', `sqlite:${path}`]
  // It stores this batch before it has read everything.
  const importing = startCommand(t, args, { cwd, input: line.repeat(1_000), isInputOpen: true })
  const isStored = () => {
    try {
      return existsSync(path) && countAnimals(path) === 1_000
    } catch {
      // There is no table yet, or the file is locked.
      return false
    }
  }
  await waitUntil(isStored, { what: 'a batch is stored' })
  rmSync(`${path}-shm`)
  await importAnimal(t, path, 'imported')
  importing.child.stdin?.end(line)
  const { code, err } = await importing.ended
  assert.notEqual(code, 0)
  assert.match(err, /-shm was (removed|replaced) while it was in use/)
  assert.equal(countAnimals(path), 1_001)
})
