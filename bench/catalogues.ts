// The catalogues. A SQLite file of each size is created once and cached. Each contender gets a copy, because creations
// change it. Catalogues in JSON and on PostgreSQL are created in each run.

import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { systemClock } from '../src/clock.ts'
import { openPostgresStore } from '../src/database/postgres/store.ts'
import { LATEST_SCHEMA } from '../src/database/sqlite/migrate.ts'
import { openSqliteStore } from '../src/database/sqlite/store.ts'
import type { Creation } from '../src/store.ts'
import type { Contender } from './contenders.ts'
import { interrupted } from './interruption.ts'
import { animalAt } from './workloads.ts'

const CACHE_FOLDER = fileURLToPath(new URL('.data/', import.meta.url))
const BATCH_SIZE = 5_000

/** Creates the contender's own catalogue in `folder`. Returns the environment variables that name it. */
export async function createCatalogue(
  { name, catalogue }: Contender,
  size: number,
  folder: string,
): Promise<Record<string, string>> {
  if (catalogue === undefined) return {}
  const path = join(folder, `${name.replaceAll(/\W/g, '-')}-${size}.${catalogue === 'json' ? 'json' : 'db'}`)
  if (catalogue === 'json') {
    const animals = Array.from({ length: size }, (_, index) => animalAt(index + 1))
    writeFileSync(path, JSON.stringify({ animals }))
  } else {
    copyFileSync(await cachedSqliteFile(size), path)
  }
  return { DATABASE: path, DATABASE_URL: `sqlite:${path}` }
}

async function cachedSqliteFile(size: number): Promise<string> {
  const path = join(CACHE_FOLDER, `${size}-schema-${LATEST_SCHEMA}.db`)
  if (existsSync(path)) return path
  mkdirSync(CACHE_FOLDER, { recursive: true })
  const unfinished = `${path}.unfinished.db`
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${unfinished}${suffix}`, { force: true })
  const store = openSqliteStore({ path: unfinished, clock: systemClock, create: true })
  try {
    for (let first = 1; first <= size; first += BATCH_SIZE) {
      interrupted.throwIfAborted()
      const count = Math.min(BATCH_SIZE, size - first + 1)
      await store.createAnimals(Array.from({ length: count }, (_, index) => creationAt(first + index)))
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

/** Creates a database with a catalogue of this size on a PostgreSQL server. Returns its URL. */
export async function createPostgresCatalogue(size: number, serverUrl: string): Promise<string> {
  const url = databaseUrl({ url: serverUrl }, size)
  await execute(serverUrl, `create database animals_${size}`)
  const store = await openPostgresStore({ url, clock: systemClock })
  await store.close()
  await execute(
    url,
    `insert into animals (name, category_id, status)
     select 'Animal number ' || id, id % 50, (array['available', 'pending', 'sold'])[id % 4]
     from generate_series(1, ${size}) as id order by id`,
  )
  await execute(url, 'vacuum analyze animals')
  return url
}

/** The URL of the catalogue of this size on a PostgreSQL server. */
export function databaseUrl({ url }: { readonly url: string }, size: number): string {
  return Object.assign(new URL(url), { pathname: `/animals_${size}` }).href
}

/** Executes one SQL statement on a connection of its own. */
export async function execute(url: string, sql: string): Promise<void> {
  interrupted.throwIfAborted()
  const client = new pg.Client({ connectionString: url })
  const end = () => client.end()
  await client.connect()
  interrupted.addEventListener('abort', end)
  try {
    await client.query(sql)
  } finally {
    interrupted.removeEventListener('abort', end)
    await end()
  }
}
