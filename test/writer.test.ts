// The writer thread of the SQLite store: start, failure, shutdown, and that readers do not wait for it.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { systemClock } from '../src/clock.ts'
import { openSqliteStore } from '../src/database/sqlite/store.ts'
import { openWriter } from '../src/database/sqlite/writer.ts'
import { isUnavailable } from '../src/error.ts'
import { startTestService, temporaryFolder } from './support/service.ts'
import { countAnimals, lockForWriting } from './support/sqlite.ts'

suite('the writer thread', () => {
  test('rejects pending writes if it cannot open the file, and is started again by the next write', async t => {
    const path = join(temporaryFolder(t), 'animals.db')
    const { write, close } = openWriter(path, () => {})
    t.after(close)
    const attempts = [write('createAnimals', [], 0), write('deleteExpiredIdempotencyKeys', 1, 0)]
    for (const attempt of attempts) await assert.rejects(attempt, isUnavailable)
    await openSqliteStore({ path, clock: systemClock, create: true }).close()
    assert.deepEqual(await write('createAnimals', [{ animal: { name: 'Bella', categoryId: 7n } }], 0), [1n])
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
    for (let count = 0; count < 50; count++) {
      assert.equal((await service.send('GET', '/v1/pets')).status, 200)
      assert.equal((await service.send('GET', '/v1/pets/1')).status, 200)
      assert.equal((await service.send('GET', '/readyz')).status, 200)
    }
    assert.equal(isAnswered, false)
    unlock()
    assert.equal((await creation).status, 201)
  })
})
