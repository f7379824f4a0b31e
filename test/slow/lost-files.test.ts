// The files of a SQLite database are removed, moved or replaced while the service uses them: it refuses other files, says so in
// one log line, and loses nothing that it has acknowledged.

import assert from 'node:assert/strict'
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { identifyFiles } from '../../src/database/sqlite/files.ts'
import { animalColumns } from '../../src/database/sqlite/statements.ts'
import { COMMAND_TIMEOUT_MS, openWriter } from '../../src/database/sqlite/writer.ts'
import { isUnavailable } from '../../src/error.ts'
import { run, serve, start as startCommand } from '../support/command.ts'
import {
  API_KEY,
  client,
  startTestService,
  type TestService,
  temporaryFolder,
  untilReadiness,
} from '../support/service.ts'
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

const ERROR = 50
const WARN = 40

/** A service with one animal, named `first`. */
async function start(t: TestContext, path = join(temporaryFolder(t), 'a.db')) {
  const service = await startTestService(t, { database: { kind: 'sqlite', path } })
  const create = async (name: string) => (await service.create({ name, categoryId: 1 })).status
  assert.equal(await create('first'), 201)
  return {
    service,
    path,
    create,
    get: async (target: string) => (await service.send('GET', target)).status,
    names: () => namesOf(service),
    move: (from: string, to: string) => {
      for (const suffix of ['', '-wal', '-shm']) renameSync(from + suffix, to + suffix)
    },
  }
}

async function namesOf({ send }: Pick<TestService, 'send'>): Promise<string[]> {
  const { json } = await send('GET', '/v1/pets?limit=100')
  return (json as { name: string }[]).map(({ name }) => name)
}

/** The messages in the log with this level. */
function messages({ logs }: TestService, level: number): string[] {
  return logs.filter(line => Number(line.level) === level).map(({ msg }) => String(msg))
}

function logged(service: TestService, level: number, pattern: RegExp): Promise<void> {
  const isLogged = () => messages(service, level).some(message => pattern.test(message))
  return waitUntil(isLogged, { what: `the log has ${pattern}` })
}

/** Where the file is that took the place of the write-ahead log. */
function movedAside(service: TestService): string {
  const [message = ''] = messages(service, WARN)
  assert.match(message, /\. Its contents are not in the database\.$/)
  return /-wal is (\S+) now\./.exec(message)?.[1] ?? assert.fail(message)
}

/** Another process adds an animal. */
async function importAnimal(t: TestContext, path: string, name: string): Promise<void> {
  const args = ['import', '-', '--format', 'jsonl', '--database-url', `sqlite:${path}`]
  const input = `${JSON.stringify({ name, categoryId: 1 })}\n`
  const { code, err } = await run(t, args, { cwd: dirname(path), input })
  assert.equal(code, 0, err)
}

/** What the database contains when it is opened without the service. */
async function stored(t: TestContext, path: string): Promise<string[]> {
  assert.equal(queryValue(path, 'pragma integrity_check'), 'ok')
  return animalNames(openTestStore(t, path, { create: false }))
}

suite('while the database file is', { concurrency: true }, () => {
  test('gone, all requests get 503, one error says what to do, and a file that is moved back is used again', async t => {
    const { service, path, create, get, names } = await start(t)
    renameSync(path, `${path}-moved`)
    assert.equal(await get('/v1/pets'), 503)
    assert.equal(await create('lost?'), 503)
    assert.equal(await get('/readyz'), 503)
    assert.equal(await get('/livez'), 200)
    assert.ok(!existsSync(path))
    const problem = `The database ${path} is gone. All requests get 503. Move the same file back, or stop the service, run animal-store restore FILE, and start the service. After a volume was detached, restart the service.`
    assert.deepEqual(messages(service, ERROR), [problem])
    renameSync(`${path}-moved`, path)
    assert.equal(await create('second'), 201)
    await untilReadiness(service, 200)
    assert.deepEqual(await names(), ['first', 'second'])
    await logged(service, WARN, /is back/)
    assert.deepEqual(messages(service, WARN), ['The database file is back.'])
    assert.deepEqual(messages(service, ERROR), [problem])
  })

  test('moved away with its write-ahead log and back, nothing is lost', async t => {
    const { service, path, create, names, move } = await start(t)
    move(path, `${path}-moved`)
    await logged(service, ERROR, /is gone/)
    move(`${path}-moved`, path)
    await logged(service, WARN, /is back/)
    await waitUntil(async () => (await create('second')) === 201, { what: 'an animal is added' })
    assert.deepEqual(await names(), ['first', 'second'])
  })

  for (const how of ['replaced', 'moved away and replaced'] as const) {
    test(`${how}, the other file is not used or changed, and is served after a restart`, async t => {
      const { service, path, create, get } = await start(t)
      const backup = `${path}-backup`
      runSql(path, `vacuum into '${backup}'`)
      runSql(backup, "update animals set name = 'from the backup'")
      assert.equal(await create('second'), 201)
      if (how === 'moved away and replaced') renameSync(path, `${path}-old`)
      const bytes = readFileSync(backup)
      renameSync(backup, path)
      assert.equal(await get('/v1/pets'), 503)
      assert.equal(await create('lost?'), 503)
      assert.equal(await get('/readyz'), 503)
      const [problem, ...others] = messages(service, ERROR)
      assert.match(problem ?? '', /^Another file is in the place of the database .*a\.db\. It is not used\. /)
      assert.deepEqual(others, [])
      await service.stop()
      assert.deepEqual(readFileSync(path), bytes)
      assert.deepEqual(await stored(t, path), ['from the backup'])
      if (how === 'moved away and replaced')
        assert.deepEqual(await stored(t, `${path}-old`), ['first', 'second'])
    })
  }
})

suite('while the write-ahead log is', { concurrency: true }, () => {
  test('gone, creations get 503 until a restart, lists go on, and one error names the files', async t => {
    const { service, path, create, get, names } = await start(t)
    rmSync(`${path}-wal`)
    assert.equal(await create('lost?'), 503)
    assert.equal(await get('/readyz'), 503)
    assert.deepEqual(await names(), ['first'])
    assert.equal(await create('lost?'), 503)
    await service.stop()
    assert.deepEqual(messages(service, ERROR), [
      `${path}-wal was removed while the service used it. Its contents are saved in ${path}. No animal is added until the service is restarted, or the same file is back.`,
    ])
    const again = await start(t, path)
    assert.deepEqual(await again.names(), ['first', 'first'])
  })

  test('gone, that is noticed without any request', async t => {
    const { service, path, get } = await start(t)
    rmSync(`${path}-wal`)
    await logged(service, ERROR, /are saved/)
    assert.equal(await get('/readyz'), 503)
    assert.deepEqual(await stored(t, path), ['first'])
  })

  test('replaced by an older copy of itself, that copy is moved aside and never applied', async t => {
    const { service, path, create, names } = await start(t)
    copyFileSync(`${path}-wal`, `${path}-copy`)
    assert.equal(await create('second'), 201)
    renameSync(`${path}-copy`, `${path}-wal`)
    assert.equal(await create('lost?'), 503)
    const [message = ''] = messages(service, ERROR)
    assert.match(message, /-wal was replaced while the service used it\. Its contents are saved in /)
    assert.deepEqual(await names(), ['first', 'second'])
    assert.ok(existsSync(movedAside(service)))
    assert.ok(!existsSync(`${path}-wal`))
  })

  test('gone, a file that takes its place later is moved aside when the service stops', async t => {
    const { service, path, create } = await start(t)
    copyFileSync(`${path}-wal`, `${path}-copy`)
    assert.equal(await create('second'), 201)
    const bytes = readFileSync(`${path}-copy`)
    rmSync(`${path}-wal`)
    await logged(service, ERROR, /are saved/)
    renameSync(`${path}-copy`, `${path}-wal`)
    await service.stop()
    assert.deepEqual(readFileSync(movedAside(service)), bytes)
    assert.deepEqual(await stored(t, path), ['first', 'second'])
  })

  for (const workers of [1, 2])
    test(`replaced by a file that another process uses, that file stays where it is, with ${workers} workers`, {
      skip: existsSync('/proc') ? false : 'only /proc tells which process uses a file',
    }, async t => {
      const cwd = temporaryFolder(t)
      const path = join(cwd, 'data', 'production.db')
      const env = { ANIMAL_STORE_API_KEY: API_KEY }
      const service = await serve(t, ['--workers', String(workers)], { cwd, env })
      const { create, close } = client(service.address)
      t.after(close)
      assert.equal((await create({ name: 'first', categoryId: 1 })).status, 201)
      rmSync(`${path}-wal`)
      writeFileSync(`${path}-wal`, 'not ours')
      const used = openSync(`${path}-wal`, 'r')
      t.after(() => closeSync(used))
      const saved = () => [...service.printed.out.matchAll(/"msg":"[^"]* are saved /g)].length
      await waitUntil(() => saved() === workers, { what: 'every process has saved what it has' })
      service.child.kill('SIGTERM')
      assert.equal((await service.ended).code, 0)
      assert.equal(readFileSync(`${path}-wal`, 'utf8'), 'not ours')
      rmSync(`${path}-wal`)
      assert.deepEqual(await stored(t, path), ['first'])
    })

  test('gone, what a command stores in a new one is there after a restart', async t => {
    const { service, path } = await start(t)
    rmSync(`${path}-wal`)
    await logged(service, ERROR, /are saved/)
    await importAnimal(t, path, 'imported')
    await service.stop()
    assert.deepEqual(await stored(t, path), ['first', 'imported'])
  })

  test('moved away and back, animals are added again', async t => {
    const { service, path, create, names } = await start(t)
    renameSync(`${path}-wal`, `${path}-moved`)
    assert.equal(await create('lost?'), 503)
    renameSync(`${path}-moved`, `${path}-wal`)
    assert.equal(await create('second'), 201)
    await logged(service, WARN, /^The write-ahead log is back\. Animals are added again\.$/)
    assert.deepEqual(await names(), ['first', 'second'])
  })

  for (const isStopped of [false, true])
    test(`gone while another process reads it, its contents are saved once that has ended${isStopped ? ', even if the service stops' : ''}`, async t => {
      const { service, path, create } = await start(t)
      const reader = openDatabase(t, path)
      reader.exec('begin; select * from animals')
      assert.equal(await create('second'), 201)
      rmSync(`${path}-wal`)
      await logged(
        service,
        ERROR,
        /are not saved yet \(another process is reading\)\. Do not stop the service/,
      )
      const stopped = isStopped ? service.stop() : undefined
      reader.exec('commit')
      await (stopped ?? logged(service, ERROR, /are saved in/))
      copyFileSync(path, `${path}-alone`)
      assert.deepEqual(await stored(t, `${path}-alone`), ['first', 'second'])
    })
})

suite('once the -shm file is', { concurrency: 2 }, () => {
  const losses: Record<string, (path: string) => void> = {
    removed: path => rmSync(`${path}-shm`),
    replaced: path => {
      copyFileSync(`${path}-shm`, `${path}-copy`)
      renameSync(`${path}-copy`, `${path}-shm`)
    },
    'removed with the write-ahead log': path => {
      rmSync(`${path}-shm`)
      rmSync(`${path}-wal`)
    },
  }
  for (const [what, lose] of Object.entries(losses)) {
    for (const workers of [1, 2]) {
      test(`${what}, with ${workers} workers: all requests get 503, and nothing is lost that any process has stored`, async t => {
        const cwd = temporaryFolder(t)
        const path = join(cwd, 'data', 'production.db')
        const env = { ANIMAL_STORE_API_KEY: API_KEY }
        const service = await serve(t, ['--workers', String(workers)], { cwd, env })
        const { create, send, close } = client(service.address)
        t.after(close)
        assert.equal((await create({ name: 'first', categoryId: 1 })).status, 201)
        lose(path)
        const errors = () =>
          [...service.printed.out.matchAll(/"level":50.*"msg":".*-shm was (?:removed|replaced) /g)].length
        await waitUntil(() => errors() === workers, { what: 'every process says so' })
        for (const target of ['/v1/pets', '/v1/pets/1', '/v1/store/inventory', '/readyz'])
          assert.equal((await send('GET', target)).status, 503, target)
        assert.equal((await create({ name: 'lost?', categoryId: 1 })).status, 503)
        assert.equal((await send('GET', '/livez')).status, 200)
        await importAnimal(t, path, 'imported')
        service.child.kill('SIGTERM')
        const { code, out } = await service.ended
        assert.equal(code, 0)
        assert.match(out, /"msg":"stopped"/)
        assert.equal(errors(), workers)
        assert.ok(readFileSync(`${path}-wal`).length > 0, 'SQLite was closed')
        assert.deepEqual(await stored(t, path), ['first', 'imported'])
      })
    }
  }
})

test('a command that has lost the -shm file fails, and takes nothing from other processes', async t => {
  const cwd = temporaryFolder(t)
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
  assert.equal(code, 1)
  assert.match(err, /-shm was (removed|replaced) while the service used it/)
  assert.equal(countAnimals(path), 1_001)
})

test('an animal is not acknowledged if the write-ahead log is removed during its commit', async t => {
  const path = join(temporaryFolder(t), 'a.db')
  const store = openTestStore(t, path)
  await addAnimal(store, 'first')
  const problems: string[] = []
  const writer = openWriter({
    files: identifyFiles(path),
    onWritten() {},
    onShmLost: assert.fail,
    log: { warn: assert.fail, error: problem => void problems.push(problem) },
    timeoutMs: COMMAND_TIMEOUT_MS,
    startThread: workerData =>
      new Worker(new URL('../../src/database/sqlite/writer-thread.ts', import.meta.url), {
        workerData,
        execArgv: ['--import', new URL('../support/remove-wal-before-commit.js', import.meta.url).href],
      }),
  })
  t.after(() => writer.close())
  const second = animalColumns({ name: 'second', categoryId: 1n })
  await assert.rejects(writer.write('createAnimals', second), isUnavailable)
  assert.match(problems.join(), /-wal was removed while the service used it\. Its contents are saved/)
  // It was stored, but that was unknown before the log was saved.
  copyFileSync(path, `${path}-alone`)
  assert.deepEqual(await stored(t, `${path}-alone`), ['first', 'second'])
})

suite('a kill -9 after the write-ahead log was', { concurrency: 2 }, () => {
  const damages: Record<string, (wal: string) => void> = {
    removed: wal => rmSync(wal),
    'replaced by an older copy': wal => renameSync(`${wal}-copy`, wal),
  }
  for (const [what, damage] of Object.entries(damages)) {
    for (const workers of [1, 2]) {
      test(`${what}, with ${workers} workers: nothing is lost`, async t => {
        const cwd = temporaryFolder(t)
        const env = { ANIMAL_STORE_API_KEY: API_KEY }
        const wal = join(cwd, 'data', 'production.db-wal')
        const first = await serve(t, ['--workers', String(workers)], { cwd, env, isGroup: true })
        const { create, close } = client(first.address)
        t.after(close)
        const statusOf = async (name: string) => (await create({ name, categoryId: 1 })).status
        const acknowledged: string[] = []
        for (let count = 0; count < 20; count++) {
          if (count === 5) copyFileSync(wal, `${wal}-copy`)
          assert.equal(await statusOf(`a${count}`), 201)
          acknowledged.push(`a${count}`)
        }
        damage(wal)
        assert.equal(await statusOf('lost?'), 503)
        await waitUntil(() => first.printed.out.includes('are saved in'), { what: 'the log is saved' })
        process.kill(-Number(first.child.pid), 'SIGKILL')
        await first.ended
        const second = await serve(t, [], { cwd, env })
        const { send: sendAgain, close: closeAgain } = client(second.address)
        t.after(closeAgain)
        assert.deepEqual(await namesOf({ send: sendAgain }), acknowledged)
      })
    }
  }
})

test('a database behind a symbolic link is used until the link leads elsewhere', async t => {
  const folder = temporaryFolder(t)
  for (const name of ['one', 'two']) {
    const store = openTestStore(t, join(folder, name, 'a.db'))
    await addAnimal(store, name)
    await store.close()
  }
  for (const link of [join('data', 'a.db'), 'data']) {
    const path = join(folder, 'data', 'a.db')
    rmSync(join(folder, 'data'), { recursive: true, force: true })
    if (link !== 'data') mkdirSync(join(folder, 'data'))
    const lead = (name: string) => {
      rmSync(join(folder, link), { force: true })
      symlinkSync(link === 'data' ? name : join('..', name, 'a.db'), join(folder, link))
    }
    lead('one')
    const store = openTestStore(t, path)
    await store.ping()
    await addAnimal(store, 'b')
    lead('two')
    await assert.rejects(addAnimal(store, 'lost?'), isUnavailable)
    await assert.rejects(animalNames(store), isUnavailable)
    lead('one')
    assert.deepEqual((await animalNames(store)).slice(-1), ['b'])
    await store.close()
  }
})
