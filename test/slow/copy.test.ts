// `animal-store copy` with many animals: a kill and Ctrl-C in the middle leave nothing, and the next run copies everything in bounded
// memory.

import assert from 'node:assert/strict'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { run, start } from '../support/command.ts'
import { runInProcess } from '../support/in-process.ts'
import { administer, countRows, newDatabase } from '../support/postgres.ts'
import { shared, temporaryFolder } from '../support/service.ts'
import { countAnimals, queryValue, runSql } from '../support/sqlite.ts'
import { waitUntil } from '../support/wait.ts'

/** More than SQLite keeps in memory, so that it writes before it commits. */
const ANIMALS = 150_000
const SUM = 'select sum(id % 1000003) + count(search_name) from animals'

/** Names outside ASCII, of a few bytes and of many. */
const FILL = `
  insert into api_keys (id, name, environment, digest, scope, created_at)
  values ('key_1', 'one', 'production', zeroblob(32), 'key_1', 1795098157310);
  with recursive number (n) as (select 1 union all select n + 1 from number where n < ${ANIMALS})
  insert into animals (name, category_id, status, search_name)
  select iif(n % 1000 = 0, replace(hex(zeroblob(490)), '0', 'é'), 'animal ' || n || hex(zeroblob(100))), n * 46116860184273,
    iif(n % 3 = 0, null, 'sold'), iif(n % 1000 = 0, replace(hex(zeroblob(490)), '0', 'e'), null)
  from number;
  delete from animals where id > ${ANIMALS - 10};`

suite('copy of many animals', () => {
  const source = shared(async () => {
    const path = join(temporaryFolder(), 'animals.db')
    await runInProcess(['migrate'], { DATABASE_URL: `sqlite:${path}` })
    runSql(path, FILL)
    await runInProcess(['migrate'], { DATABASE_URL: `sqlite:${path}` })
    return path
  })

  for (const signal of ['SIGKILL', 'SIGINT'] as const) {
    test(`from SQLite to PostgreSQL and back, both with ${signal} in the middle`, async t => {
      const postgres = await newDatabase(t)
      const cwd = temporaryFolder()
      const env = { DATABASE_URL: `sqlite:${source()}`, TO_DATABASE_URL: postgres }
      const copying = start(t, ['copy'], { cwd, env })
      const isFilling = async () => {
        const { rows } = await administer(
          "select coalesce(pg_relation_size(to_regclass('animals')), 0) > 2000000 as is_filling",
          postgres,
        )
        return rows[0].is_filling
      }
      await waitUntil(isFilling, { what: 'the tables are filled' })
      copying.child.kill(signal)
      const stopped = await copying.ended
      assert.equal(stopped.code, signal === 'SIGINT' ? 130 : null)
      // The server may notice a connection that is gone only after its statement.
      await waitUntil(
        async () =>
          (await countRows("pg_locks where relation = 'animals'::regclass and granted", postgres)) === 0,
        { what: 'the server has rolled back' },
      )
      assert.equal((await countRows('animals', postgres)) + (await countRows('api_keys', postgres)), 0)
      const copied = await run(t, ['copy'], { cwd, env })
      assert.equal(copied.code, 0, copied.err)

      const back = join(cwd, 'back.db')
      const backEnv = { DATABASE_URL: postgres, TO_DATABASE_URL: `sqlite:${back}` }
      const goingBack = start(t, ['copy'], { cwd, env: backEnv })
      const isWriting = () => existsSync(`${back}-wal`) && statSync(`${back}-wal`).size > 4_000_000
      await waitUntil(isWriting, { what: 'the file is filled' })
      goingBack.child.kill(signal)
      await goingBack.ended
      assert.equal(countAnimals(back), 0)
      const { code, err } = await run(t, ['copy'], { cwd, env: backEnv })
      assert.equal(code, 0, err)
      assert.match(err, /^149,990 animals and 1 key copied/m)
      assert.equal(queryValue(back, SUM), queryValue(source(), SUM))
      assert.equal(queryValue(back, 'select seq from sqlite_sequence'), ANIMALS)
      assert.equal(queryValue(back, 'pragma integrity_check'), 'ok')
      const counts = 'select available + pending + sold + none from inventory'
      assert.equal(queryValue(back, counts), ANIMALS - 10)
    })
  }
})
