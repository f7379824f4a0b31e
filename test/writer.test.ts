// The writing thread: what is asked of it, and what becomes of those who wait when it ends.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, test } from 'node:test'
import { systemClock } from '../src/clock.ts'
import { openSqliteStore } from '../src/database/sqlite/store.ts'
import { openWriter } from '../src/database/sqlite/writer.ts'
import { ServiceError } from '../src/error.ts'
import { startTestService, temporaryFolder } from './support/service.ts'

suite('the writing thread', () => {
  test('that cannot open the file fails those who wait, and the next write starts another', async t => {
    const path = join(temporaryFolder(t), 'animals.db')
    const { write, close } = openWriter(path, () => {})
    t.after(close)
    const isUnavailable = (error: unknown) => error instanceof ServiceError && error.code === 'unavailable'
    const attempts = [write('createAnimals', [], 0), write('deleteExpiredIdempotencyKeys', 1, 0)]
    for (const attempt of attempts) await assert.rejects(attempt, isUnavailable)
    await openSqliteStore({ path, clock: systemClock, create: true }).close()
    assert.deepEqual(await write('createAnimals', [{ animal: { name: 'Bella', categoryId: 7n } }], 0), [1n])
  })

  test('does what it was asked to before it closes', async t => {
    const path = join(temporaryFolder(t), 'animals.db')
    const store = openSqliteStore({ path, clock: systemClock, create: true })
    const creations = Array.from({ length: 5 }, (_, index) =>
      store.createAnimals([{ animal: { name: `animal ${index}`, categoryId: 1n } }]),
    )
    await store.close()
    const outcomes = (await Promise.all(creations)).flat()
    assert.deepEqual([...new Set(outcomes.map(({ kind }) => kind))], ['created'])
    const database = new DatabaseSync(path)
    assert.equal(database.prepare('select count(*) as count from animals').get()?.count, 5)
    database.close()
  })

  test('that waits for the lock of another process holds up neither listings nor readiness', async t => {
    const path = join(temporaryFolder(t), 'animals.db')
    const service = await startTestService(t, { database: { kind: 'sqlite', path } })
    await service.create({ name: 'Bella', categoryId: 7 })
    const other = new DatabaseSync(path)
    t.after(() => other.close())
    other.exec('begin immediate')
    let isAnswered = false
    const creation = service.create({ name: 'Kim', categoryId: 8 }).then(reply => {
      isAnswered = true
      return reply
    })
    for (let count = 0; count < 50; count++) {
      assert.equal((await service.send('GET', '/v1/pets')).status, 200)
      assert.equal((await service.send('GET', '/v1/pets/1')).status, 200)
      assert.equal((await service.send('GET', '/readyz')).status, 200)
    }
    assert.equal(isAnswered, false)
    other.exec('commit')
    assert.equal((await creation).status, 201)
  })
})
