// The writer thread of the SQLite store: start, failure, shutdown, and that readers do not wait for it.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { systemClock } from '../src/clock.ts'
import { openSqliteStore } from '../src/database/sqlite/sqlite-store.ts'
import { isUnavailable, ServiceError } from '../src/error.ts'
import { createAnimals } from './support/animals.ts'
import { MAIN, serve } from './support/command.ts'
import { connectRaw } from './support/raw-http.ts'
import { API_KEY, client, startTestService, temporaryFolder } from './support/service.ts'
import { addAnimal, animalNames, countAnimals, lockForWriting, openTestStore } from './support/sqlite.ts'

suite('the writer thread', () => {
  test('ends the process if it ends unexpectedly, with one line in the log', async t => {
    const cwd = temporaryFolder()
    const preload = join(cwd, 'fail-in-thread.mjs')
    writeFileSync(
      preload,
      `import { parentPort } from 'node:worker_threads'
       parentPort?.on('message', () => { throw new Error('out of order') })`,
    )
    const env = { ANIMAL_STORE_API_KEY: API_KEY, NODE_OPTIONS: `--import ${preload}` }
    const { address, ended } = await serve(t, [], { cwd, env })
    const { create, close } = client(address)
    t.after(close)
    assert.equal((await create({ name: 'Bella', categoryId: 7 })).status, 503)
    const { code, out } = await ended
    assert.equal(code, 1)
    const fatal = out.split('\n').filter(line => line.startsWith('{"level":60'))
    assert.equal(fatal.length, 1, out)
    assert.match(String(fatal[0]), /the writer thread has ended.*out of order/)
  })

  test('stores animals although the process has no file descriptor left', async t => {
    const cwd = temporaryFolder()
    const script = 'ulimit -n 60; exec "$@"'
    const program = ['sh', '-c', script, 'sh', process.execPath, MAIN]
    const { address } = await serve(t, [], { cwd, env: { ANIMAL_STORE_API_KEY: API_KEY }, program })
    const { create, close } = client(address)
    t.after(close)
    assert.equal((await create({ name: 'Bella', categoryId: 7 })).status, 201)
    // More connections than descriptors: the kernel accepts them, the service cannot.
    for (let count = 0; count < 80; count++) {
      const { socket } = connectRaw(address)
      t.after(() => socket.destroy())
      await once(socket, 'connect')
    }
    assert.equal((await create({ name: 'Bella', categoryId: 7 })).status, 201)
  })

  test('finishes pending writes before it closes', async () => {
    const path = join(temporaryFolder(), 'animals.db')
    const store = openSqliteStore({ path, clock: systemClock, create: true })
    const creations = Array.from({ length: 5 }, (_, index) =>
      createAnimals(store, [{ animal: { name: `animal ${index}`, categoryId: 1n } }]),
    )
    await store.close()
    const outcomes = (await Promise.all(creations)).flat()
    assert.deepEqual([...new Set(outcomes.map(({ kind }) => kind))], ['created'])
    assert.equal(countAnimals(path), 5)
  })

  test('delays neither listings nor readiness while it waits for the lock of another process', async t => {
    const path = join(temporaryFolder(), 'animals.db')
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
    const path = join(temporaryFolder(), 'a.db')
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
    const store = openTestStore(t, join(temporaryFolder(), 'a.db'))
    const badStatus = { name: 'a', categoryId: 1n, status: 'lost' as 'sold' }
    await assert.rejects(
      createAnimals(store, [{ animal: { name: 'x', categoryId: 1n } }, { animal: badStatus }]),
      (error: unknown) => !(error instanceof ServiceError),
    )
    assert.deepEqual(await animalNames(store), [])
    await addAnimal(store, 'a')
    assert.deepEqual(await animalNames(store), ['a'])
  })
})
