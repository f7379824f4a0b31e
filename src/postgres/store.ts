// The Store on PostgreSQL, through pg: shared by as many instances as it takes. No session state, no advisory locks,
// no notifications: it works through a pooler, and on engines that only speak like PostgreSQL.

import type { ClientBase } from 'pg'
import { type Animal, isSameAnimal, parseStatus } from '../animal.ts'
import { type ApiKey, ENVIRONMENTS, isInForce } from '../api-key.ts'
import type { Clock } from '../clock.ts'
import { ServiceError } from '../error.ts'
import { INT64_MIN } from '../json.ts'
import { type Creation, IDEMPOTENCY_WINDOW_MS, type Outcome, type Store, UnusableDatabase } from '../store.ts'
import { lockSchema, migrate } from './migrate.ts'
import { openPool, type Pool } from './pool.ts'
import * as sql from './sql.ts'

type Row = Record<string, unknown>

export interface PostgresStoreOptions {
  readonly url: string
  readonly clock: Clock
}

/** Connects and migrates, or throws an UnusableDatabase whose message is for the person who starts the service. */
export async function openPostgresStore({ url, clock }: PostgresStoreOptions): Promise<Store> {
  const pool = openPool(url)
  try {
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
    async listAnimals({ limit, after = INT64_MIN, status }) {
      const { rows } =
        status === undefined
          ? await pool.query(sql.LIST_ANIMALS, [after, limit])
          : await pool.query(sql.LIST_ANIMALS_BY_STATUS, [status, after, limit])
      return rows.map(toAnimal)
    },

    async findAnimal(id) {
      const { rows } = await pool.query(sql.FIND_ANIMAL, [id])
      return rows[0] && toAnimal(rows[0])
    },

    createAnimals: creations => createAnimals(pool, creations, clock().getTime()),

    async forgetIdempotencyKeys(atMost) {
      const { rowCount } = await pool.query(sql.FORGET, [clock().getTime() - IDEMPOTENCY_WINDOW_MS, atMost])
      return rowCount ?? 0
    },

    async findKey(digest) {
      const { rows } = await pool.query(sql.FIND_KEY_BY_DIGEST, [Buffer.from(digest)])
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
        if (rows.length === 0 || !isInForce(toKey(rows[0]), successor.createdAt)) return false
        await client.query(sql.INSERT_KEY, keyValues(successor))
        await client.query(sql.EXPIRE_KEY, [expiresAt.getTime(), id, successor.environment])
        return true
      })
    },

    async ping() {
      await pool.query('select 1')
    },

    close: () => pool.close(),
  }
}

/**
 * One statement, and so one commit, for all of them. A row whose idempotency key is taken comes back without an id;
 * only then is the animal it stands for looked up. Of several with one key in the batch only the first is sent,
 * because a statement cannot touch a row twice.
 */
async function createAnimals(pool: Pool, creations: readonly Creation[], now: number): Promise<Outcome[]> {
  if (creations.length === 0) return []
  const firsts = new Map<string, Creation>()
  for (const creation of creations) {
    const name = rememberedAs(creation)
    if (name !== undefined && !firsts.has(name)) firsts.set(name, creation)
  }
  const sent = creations.filter(creation => {
    const name = rememberedAs(creation)
    return name === undefined || firsts.get(name) === creation
  })
  const { rows } = await pool.query(sql.CREATE_ANIMALS, [
    sent.map(({ animal }) => animal.name),
    sent.map(({ animal }) => animal.categoryId),
    sent.map(({ animal }) => animal.status ?? null),
    sent.map(({ idempotency }) => idempotency?.scope ?? null),
    sent.map(({ idempotency }) => idempotency?.key ?? null),
    now,
    now - IDEMPOTENCY_WINDOW_MS,
  ])
  const ids = new Map<Creation, bigint>()
  for (const { position, id } of rows) {
    const creation = sent[Number(position) - 1]
    if (creation !== undefined) ids.set(creation, id)
  }
  const remembered = await findRemembered(
    pool,
    sent.filter(creation => !ids.has(creation)),
  )
  return creations.map(creation => {
    const id = ids.get(creation)
    if (id !== undefined) return { kind: 'created', animal: { id, ...creation.animal } }
    const name = rememberedAs(creation) ?? ''
    const first = firsts.get(name)
    const firstId = first && ids.get(first)
    const known = firstId === undefined ? remembered.get(name) : { id: firstId, ...first?.animal }
    if (known === undefined) throw unknownOutcome()
    return isSameAnimal(known as Animal, creation.animal)
      ? { kind: 'replayed', animal: known as Animal }
      : { kind: 'key_reused' }
  })
}

async function findRemembered(pool: Pool, creations: readonly Creation[]): Promise<Map<string, Animal>> {
  if (creations.length === 0) return new Map()
  const { rows } = await pool.query(sql.FIND_REMEMBERED, [
    creations.map(({ idempotency }) => idempotency?.scope),
    creations.map(({ idempotency }) => idempotency?.key),
  ])
  return new Map(rows.map(row => [JSON.stringify([row.scope, row.key]), toAnimal(row)]))
}

function rememberedAs({ idempotency }: Creation): string | undefined {
  return idempotency && JSON.stringify([idempotency.scope, idempotency.key])
}

/** Its key was taken when it was sent and was forgotten before it was looked up: to repeat it is right. */
function unknownOutcome(): ServiceError {
  return new ServiceError('unavailable', 'The animal could not be added right now. Try again shortly.')
}

function toAnimal(row: Row): Animal {
  const animal = { id: row.id as bigint, name: row.name as string, categoryId: row.category_id as bigint }
  return row.status === null ? animal : { ...animal, status: parseStatus(row.status) }
}

function toKey(row: Row): ApiKey {
  const environment = ENVIRONMENTS.find(known => known === row.environment)
  if (environment === undefined) throw new Error('an API key is stored with an unknown environment')
  return {
    id: row.id as string,
    name: row.name as string,
    environment,
    digest: new Uint8Array(row.digest as Buffer),
    scope: row.scope as string,
    createdAt: new Date(Number(row.created_at)),
    expiresAt: toDate(row.expires_at),
    revokedAt: toDate(row.revoked_at),
  }
}

function toDate(time: unknown): Date | undefined {
  return typeof time === 'bigint' ? new Date(Number(time)) : undefined
}

function keyValues(key: ApiKey): unknown[] {
  return [
    key.id,
    key.name,
    key.environment,
    Buffer.from(key.digest),
    key.scope,
    key.createdAt.getTime(),
    key.expiresAt?.getTime() ?? null,
    key.revokedAt?.getTime() ?? null,
  ]
}
