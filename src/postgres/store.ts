// The Store on PostgreSQL, through pg: shared by as many instances as it takes. No session state, no advisory locks,
// no notifications: it works through a pooler, and on engines that only speak like PostgreSQL.

import type { ClientBase } from 'pg'
import { type Animal, isSameAnimal, renderAnimal, renderAnimals } from '../animal.ts'
import { isInForce } from '../api-key.ts'
import type { Clock } from '../clock.ts'
import { ServiceError } from '../error.ts'
import { INT64_MIN } from '../json.ts'
import { keyValues, toAnimal, toKey, toWrittenAnimal } from '../rows.ts'
import {
  type Creation,
  IDEMPOTENCY_WINDOW_MS,
  type Outcome,
  type Page,
  type Store,
  UnusableDatabase,
} from '../store.ts'
import { lockSchema, migrate } from './migrate.ts'
import { openPool, type Pool } from './pool.ts'
import * as sql from './sql.ts'

export interface PostgresStoreOptions {
  readonly url: string
  readonly clock: Clock
}

/** Connects and migrates, or throws an UnusableDatabase whose message is for the person who starts the service. */
export async function openPostgresStore({ url, clock }: PostgresStoreOptions): Promise<Store> {
  const pool = openPool(url)
  try {
    const { rows } = await pool.query('show server_encoding')
    if (rows[0].server_encoding !== 'UTF8') {
      throw new UnusableDatabase(
        'The PostgreSQL database must have the encoding UTF8, to keep every name there is.',
      )
    }
    await migrate(pool)
  } catch (error) {
    await pool.close()
    if (error instanceof UnusableDatabase) throw error
    const cause = error instanceof ServiceError ? error.cause : error
    const reason = cause instanceof Error ? cause.message || cause.name : String(cause)
    throw new UnusableDatabase(`The PostgreSQL database cannot be used: ${reason.split('\n', 1)[0]}.`, {
      cause: error,
    })
  }

  return {
    async listAnimals(page) {
      return (await pool.rows(...listing(page))).map(toAnimal)
    },

    async renderPage(page) {
      // One more than asked for tells whether another page follows.
      const rows = await pool.texts(...listing({ ...page, limit: page.limit + 1 }))
      const hasNext = rows.length > page.limit
      if (hasNext) rows.pop()
      const animals = rows.map(toWrittenAnimal)
      const last = animals.at(-1)
      return { json: renderAnimals(animals), next: hasNext && last ? BigInt(last.id) : undefined }
    },

    async renderAnimal(id) {
      const [row] = await pool.texts(sql.FIND_ANIMAL, [id])
      return row && renderAnimal(toWrittenAnimal(row))
    },

    revision: () => undefined,

    createAnimals: creations => createAnimals(pool, creations, clock()),

    async forgetIdempotencyKeys(atMost) {
      const { rowCount } = await pool.query(sql.FORGET, [clock() - IDEMPOTENCY_WINDOW_MS, atMost])
      return rowCount ?? 0
    },

    async findKey(digest) {
      const { rows } = await pool.query(sql.FIND_KEY_BY_DIGEST, [Buffer.from(digest, 'hex')])
      return rows[0] && toKey(rows[0])
    },

    async listKeys(environment) {
      const { rows } = await pool.query(sql.LIST_KEYS, [environment])
      return rows.map(toKey)
    },

    async createKey(key) {
      await pool.query(sql.INSERT_KEY, keyValues(key))
    },

    createFirstKey(key) {
      return pool.transact(async client => {
        await lockSchema(client)
        const { rows } = await client.query(sql.HAS_KEYS, [key.environment])
        if (rows.length > 0) return false
        await client.query(sql.INSERT_KEY, keyValues(key))
        return true
      })
    },

    async revokeKey(id, environment, at) {
      const { rows } = await pool.query(sql.REVOKE_KEY, [at.getTime(), id, environment])
      return rows[0] && toKey(rows[0])
    },

    rotateKey(id, successor, expiresAt) {
      return pool.transact(async (client: ClientBase) => {
        const { rows } = await client.query(sql.LOCK_KEY, [id, successor.environment])
        if (rows.length === 0 || !isInForce(toKey(rows[0]), successor.createdAt.getTime())) return false
        await client.query(sql.INSERT_KEY, keyValues(successor))
        await client.query(sql.EXPIRE_KEY, [expiresAt.getTime(), id, successor.environment])
        return true
      })
    },

    ping: () => pool.ping(),

    close: () => pool.close(),
  }
}

function listing({ limit, after = INT64_MIN, status }: Page): [string, unknown[]] {
  return status === undefined
    ? [sql.LIST_ANIMALS, [after, limit]]
    : [sql.LIST_ANIMALS_BY_STATUS, [status, after, limit]]
}

/** One statement, and so one commit, for all of them. */
async function createAnimals(pool: Pool, creations: readonly Creation[], now: number): Promise<Outcome[]> {
  if (creations.length === 0) return []
  const hasKeys = creations.some(({ idempotency }) => idempotency !== undefined)
  return hasKeys ? createOnce(pool, creations, now) : create(pool, creations)
}

async function create(pool: Pool, creations: readonly Creation[]): Promise<Outcome[]> {
  const rows = (await pool.rows(sql.CREATE_ANIMALS, animalColumns(creations))) as [bigint][]
  if (rows.length !== creations.length) throw new Error('not every animal was given an id')
  const ids = rows.map(([id]) => id).toSorted((one, other) => (one < other ? -1 : 1))
  return creations.map(({ animal }, index) => ({
    kind: 'created',
    animal: { id: ids[index] as bigint, ...animal },
  }))
}

/**
 * A row whose idempotency key is taken comes back without an id; only then is the animal it stands for looked up. Of
 * several with one key in the batch only the first is sent, because a statement cannot touch a row twice.
 */
async function createOnce(pool: Pool, creations: readonly Creation[], now: number): Promise<Outcome[]> {
  const firsts = new Map<string, Creation>()
  for (const creation of creations) {
    const key = keyOf(creation)
    if (key !== undefined && !firsts.has(key)) firsts.set(key, creation)
  }
  const isFirst = (creation: Creation) => [undefined, creation].includes(firsts.get(keyOf(creation) ?? ''))
  const sent = creations.filter(isFirst)
  const created = await insertFree(pool, sent, now)
  const taken = sent.filter(creation => !created.has(creation))
  // By now the others are stored: whatever goes wrong from here on must not make them fail too.
  let cause: unknown
  const remembered = await findRemembered(pool, taken).catch(error => {
    cause = error
    return new Map<string, Animal>()
  })

  return creations.map((creation): Outcome => {
    const animal = created.get(creation)
    if (animal !== undefined) return { kind: 'created', animal }
    const key = keyOf(creation) ?? ''
    const first = created.get(firsts.get(key) ?? creation) ?? remembered.get(key)
    if (first === undefined) return { kind: 'unavailable', cause }
    return isSameAnimal(first, creation.animal) ? { kind: 'replayed', animal: first } : { kind: 'key_reused' }
  })
}

/** Stores those whose idempotency key is free. */
async function insertFree(
  pool: Pool,
  sent: readonly Creation[],
  now: number,
): Promise<Map<Creation, Animal>> {
  const rows = (await pool.rows(sql.CREATE_ANIMALS_ONCE, [
    ...animalColumns(sent),
    sent.map(({ idempotency }) => idempotency?.scope ?? null),
    sent.map(({ idempotency }) => idempotency?.key ?? null),
    now,
    now - IDEMPOTENCY_WINDOW_MS,
  ])) as [bigint, bigint][]
  const ids = new Map(rows.map(([position, id]) => [Number(position), id]))
  return new Map(
    sent.flatMap((creation, index) => {
      const id = ids.get(index + 1)
      return id === undefined ? [] : [[creation, { id, ...creation.animal }]]
    }),
  )
}

function animalColumns(creations: readonly Creation[]): unknown[][] {
  return [
    creations.map(({ animal }) => animal.name),
    creations.map(({ animal }) => animal.categoryId),
    creations.map(({ animal }) => animal.status ?? null),
  ]
}

async function findRemembered(pool: Pool, taken: readonly Creation[]): Promise<Map<string, Animal>> {
  if (taken.length === 0) return new Map()
  const scopes = taken.map(({ idempotency }) => idempotency?.scope)
  const keys = taken.map(({ idempotency }) => idempotency?.key)
  const rows = await pool.rows(sql.FIND_REMEMBERED, [scopes, keys])
  return new Map(rows.map(([scope, key, ...animal]) => [JSON.stringify([scope, key]), toAnimal(animal)]))
}

function keyOf({ idempotency }: Creation): string | undefined {
  return idempotency && JSON.stringify([idempotency.scope, idempotency.key])
}
