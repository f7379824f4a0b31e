// The writer thread of the SQLite store: start, failure, shutdown, and that readers do not wait for it.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { systemClock } from '../src/clock.ts'
import { identifyFiles, type OpenedFiles } from '../src/database/sqlite/files.ts'
import { animalColumns } from '../src/database/sqlite/statements.ts'
import { openSqliteStore } from '../src/database/sqlite/store.ts'
import { openWriter, REQUEST_TIMEOUT_MS } from '../src/database/sqlite/writer.ts'
import { isUnavailable, ServiceError } from '../src/error.ts'
import { MAIN, serve } from './support/command.ts'
import { connectRaw } from './support/raw-http.ts'
import { API_KEY, client, startTestService, temporaryFolder } from './support/service.ts'
import {
  addAnimal,
  animalNames,
  countAnimals,
  lockForWriting,
  openDatabase,
  openTestStore,
} from './support/sqlite.ts'

const BELLA = animalColumns({ name: 'Bella', categoryId: 7n })
const IDLE = { onWritten() {}, onShmLost() {}, log: { warn() {}, error() {} }, timeoutMs: REQUEST_TIMEOUT_MS }

async function createFile(path: string): Promise<void> {
  await openSqliteStore({ path, clock: systemClock, create: true }).close()
}

/** Creates a database that is open until the end of the test, and identifies its files. */
async function createDatabase(t: TestContext): Promise<OpenedFiles> {
  const path = join(temporaryFolder(t), 'animals.db')
  await createFile(path)
  openDatabase(t, path).exec('select * from animals')
  return identifyFiles(path)
}

suite('the writer thread', () => {
  test('is started again by the next write after it ended or could not start, and says so once', async t => {
    const files = await createDatabase(t)
    const messages: string[] = []
    const log = (message: string) => void messages.push(message)
    let starts = 0
    const writer = openWriter({
      ...IDLE,
      files,
      log: { warn: log, error: log },
      startThread(workerData) {
        starts++
        if (starts === 1) throw new Error('too many open files')
        if (starts === 2) return new Worker('process.exit(1)', { eval: true })
        return new Worker(new URL('../src/database/sqlite/writer-thread.ts', import.meta.url), { workerData })
      },
    })
    t.after(() => writer.close())
    writer.start()
    await assert.rejects(writer.started(), isUnavailable)
    await assert.rejects(writer.write('createAnimals', BELLA), isUnavailable)
    assert.deepEqual(await writer.write('createAnimals', BELLA), [1n])
    assert.deepEqual(messages, [
      'The writer thread has ended unexpectedly (too many open files). Creations get 503 until it runs again.',
      'The writer thread runs again.',
    ])
  })

  test('is waited for only for a limited time if the disk stalls while it opens the file', async t => {
    const writer = openWriter({
      ...IDLE,
      files: await createDatabase(t),
      // It ends when it is told to close.
      startThread: () =>
        new Worker("require('node:worker_threads').parentPort.once('message', () => {})", { eval: true }),
    })
    writer.start()
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const started = assert.rejects(writer.started(), isUnavailable)
    t.mock.timers.tick(10_000)
    await started
    t.mock.timers.reset()
    await writer.close()
  })

  test('stores animals although the process has no file descriptor left', async t => {
    const cwd = temporaryFolder(t)
    const script = 'ulimit -n 60; exec "$@"'
    const program = ['sh', '-c', script, 'sh', process.execPath, MAIN]
    const { address } = await serve(t, [], { cwd, env: { ANIMAL_STORE_API_KEY: API_KEY }, program })
    const { send, create, close } = client(address)
    t.after(close)
    assert.equal((await send('GET', '/readyz')).status, 200)
    // More connections than descriptors: the kernel accepts them, the service cannot.
    for (let count = 0; count < 80; count++) {
      const { socket } = connectRaw(address)
      t.after(() => socket.destroy())
      await once(socket, 'connect')
    }
    assert.equal((await create({ name: 'Bella', categoryId: 7 })).status, 201)
  })

  test('finishes pending writes before it closes', async t => {
    const path = join(temporaryFolder(t), 'animals.db')
    const store = openSqliteStore({ path, clock: systemClock, create: true })
    const creations = Array.from({ length: 5 }, (_, index) =>
      store.createAnimals([{ animal: { name: `animal ${index}`, categoryId: 1n } }]),
    )
    await store.close()
    const outcomes = (await Promise.all(creations)).flat()
    assert.deepEqual([...new Set(outcomes.map(({ kind }) => kind))], ['created'])
    assert.equal(countAnimals(path), 5)
  })

  test('delays neither listings nor readiness while it waits for the lock of another process', async t => {
    const path = join(temporaryFolder(t), 'animals.db')
    const service = await startTestService(t, { database: { kind: 'sqlite', path } })
    await service.create({ name: 'Bella', categoryId: 7 })
    const unlock = lockForWriting(t, path)
    let isAnswered = false
    const creation = service.create({ name: 'Kim', categoryId: 8 }).then(reply => {
      isAnswered = true
      return reply
    })
    for (let count = 0; count < 10; count++) {
      assert.equal((await service.send('GET', '/v1/pets')).status, 200)
      assert.equal((await service.send('GET', '/v1/pets/1')).status, 200)
      assert.equal((await service.send('GET', '/readyz')).status, 200)
    }
    assert.equal(isAnswered, false)
    unlock()
    assert.equal((await creation).status, 201)
  })

  test('waits for the lock of another process, and rejects a write that waits too long', async t => {
    const path = join(temporaryFolder(t), 'a.db')
    const store = openTestStore(t, path)
    await addAnimal(store, 'a')
    const unlock = lockForWriting(t, path)
    const waiting = addAnimal(store, 'b')
    assert.deepEqual(await animalNames(store), ['a'])
    unlock()
    await waiting
    assert.deepEqual(await animalNames(store), ['a', 'b'])
    const unlockAgain = lockForWriting(t, path)
    await assert.rejects(addAnimal(store, 'c'), isUnavailable)
    unlockAgain()
    assert.deepEqual(await animalNames(store), ['a', 'b'])
    await addAnimal(store, 'd')
    assert.deepEqual(await animalNames(store), ['a', 'b', 'd'])
  })

  test('reports an invalid value from our own code as a bug, and stores nothing of its batch', async t => {
    const store = openTestStore(t, join(temporaryFolder(t), 'a.db'))
    const badStatus = { name: 'a', categoryId: 1n, status: 'lost' as 'sold' }
    await assert.rejects(
      store.createAnimals([{ animal: { name: 'x', categoryId: 1n } }, { animal: badStatus }]),
      (error: unknown) => !(error instanceof ServiceError),
    )
    assert.deepEqual(await animalNames(store), [])
    await addAnimal(store, 'a')
    assert.deepEqual(await animalNames(store), ['a'])
  })
})
