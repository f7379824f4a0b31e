// The catalogues. Creations change them, so each contender has its own, and a new one for each comparison. A SQLite file of
// each size is created once, cached and copied.

import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../src/clock.ts'
import { openPostgresStore } from '../src/database/postgres/postgres-store.ts'
import { LATEST_SCHEMA } from '../src/database/sqlite/migrate.ts'
import { openSqliteStore } from '../src/database/sqlite/sqlite-store.ts'
import { type Creation, createAnimals } from '../test/support/animals.ts'
import { administer } from '../test/support/postgres.ts'
import { ANIMAL_STORE, CACHE_FOLDER, type Contender } from './contenders.ts'
import { animalAt } from './workloads.ts'

const BATCH_SIZE = 5_000

/** Creates the contender's own catalogue in `folder`. Returns the environment variables that name it. */
export async function createSqliteCatalogue(
  contender: Contender,
  size: number,
  folder: string,
): Promise<Record<string, string>> {
  const path = join(folder, `${contender.name.replaceAll(/\W/g, '-')}.db`)
  for (const suffix of ['-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true })
  copyFileSync(await cachedSqliteFile(size), path)
  if (contender !== ANIMAL_STORE) {
    // The others keep no inventory.
    const database = new DatabaseSync(path)
    database.exec('drop trigger animals_changed; drop trigger animals_removed')
    database.close()
  }
  return { DATABASE: path, DATABASE_URL: `sqlite:${path}` }
}

async function cachedSqliteFile(size: number): Promise<string> {
  const path = join(CACHE_FOLDER, `${size}-schema-${LATEST_SCHEMA}.db`)
  if (existsSync(path)) return path
  const unfinished = `${path}.unfinished.db`
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${unfinished}${suffix}`, { force: true })
  const store = openSqliteStore({ path: unfinished, clock: systemClock, create: true })
  try {
    for (let first = 1; first <= size; first += BATCH_SIZE) {
      const count = Math.min(BATCH_SIZE, size - first + 1)
      await createAnimals(
        store,
        Array.from({ length: count }, (_, index) => creationAt(first + index)),
      )
    }
  } finally {
    await store.close()
  }
  renameSync(unfinished, path)
  return path
}

function creationAt(id: number): Creation {
  const { name, categoryId, status } = animalAt(id)
  const animal = { name, categoryId: BigInt(categoryId) }
  return { animal: status === undefined ? animal : { ...animal, status } }
}

/** Creates the contender's catalogue on its PostgreSQL server, in place of the one before. Returns its URL. */
export async function createPostgresCatalogue(
  contender: Contender,
  size: number,
  serverUrl: string,
): Promise<string> {
  const url = Object.assign(new URL(serverUrl), { pathname: '/animals' }).href
  await administer('drop database if exists animals with (force)', serverUrl)
  await administer('create database animals', serverUrl)
  const store = await openPostgresStore({ url, clock: systemClock, create: true })
  await store.close()
  await administer(
    `insert into animals (name, category_id, status)
     select 'Animal number ' || id, id % 50, (array['available', 'pending', 'sold'])[id % 4]
     from generate_series(1, ${size}) as id order by id`,
    url,
  )
  // The others keep no inventory of changes. The trigger that counts new animals stays, as report.ts says.
  if (contender !== ANIMAL_STORE) await administer('drop trigger animals_inventory_update on animals', url)
  await administer('vacuum analyze animals', url)
  return url
}

export async function versionOfPostgres(url: string): Promise<string> {
  const { rows } = await administer('show server_version', url)
  return rows[0].server_version
}
