// The catalogues: made once for each size, and copied for each contender, because creations change them.

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
import { animalAt } from './workloads.ts'

const KEPT = fileURLToPath(new URL('.data/', import.meta.url))
const AT_ONCE = 5_000

/** The environment that leads a contender to a copy of its own, in `folder`. */
export async function catalogueFor(
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
    copyFileSync(await sqliteOf(size), path)
  }
  return { DATABASE: path, DATABASE_URL: `sqlite:${path}` }
}

async function sqliteOf(size: number): Promise<string> {
  const path = join(KEPT, `${size}-schema-${LATEST_SCHEMA}.db`)
  if (existsSync(path)) return path
  mkdirSync(KEPT, { recursive: true })
  const unfinished = `${path}.unfinished.db`
  for (const ending of ['', '-wal', '-shm']) rmSync(`${unfinished}${ending}`, { force: true })
  const store = openSqliteStore({ path: unfinished, clock: systemClock, create: true })
  for (let first = 1; first <= size; first += AT_ONCE) {
    const ids = Array.from({ length: Math.min(AT_ONCE, size - first + 1) }, (_, index) => first + index)
    await store.createAnimals(ids.map(creationOf))
  }
  await store.close()
  renameSync(unfinished, path)
  return path
}

function creationOf(id: number): Creation {
  const { name, categoryId, status } = animalAt(id)
  const animal = { name, categoryId: BigInt(categoryId) }
  return { animal: status === undefined ? animal : { ...animal, status } }
}

/** Makes a database of this size on a PostgreSQL server, and returns its address. */
export async function postgresOf(size: number, serverUrl: string): Promise<string> {
  const url = new URL(serverUrl)
  url.pathname = `/animals_${size}`
  await query(serverUrl, `create database animals_${size}`)
  const store = await openPostgresStore({ url: url.href, clock: systemClock })
  await store.close()
  await query(
    url.href,
    `insert into animals (name, category_id, status)
     select 'Animal number ' || id, id % 50, (array['available', 'pending', 'sold'])[id % 4]
     from generate_series(1, ${size}) as id order by id`,
  )
  await query(url.href, 'vacuum analyze animals')
  return url.href
}

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
