// The Store on SQLite, through node:sqlite: the embedded default, in one file or in memory.

import { resolve } from 'node:path'
import { isSameAnimal } from '../animal.ts'
import { type ApiKey, isInForce } from '../api-key.ts'
import type { Clock } from '../clock.ts'
import { INT64_MIN } from '../json.ts'
import { toAnimal, toKey } from '../rows.ts'
import { type Creation, IDEMPOTENCY_WINDOW_MS, type Outcome, type Store } from '../store.ts'
import { connect } from './connection.ts'
import { MEMORY, type OpenOptions } from './open.ts'
import { prepareStatements, type Statements } from './statements.ts'

export interface SqliteStoreOptions extends OpenOptions {
  readonly path: string
  readonly clock: Clock
}

/** Opens the store, or throws an UnusableDatabase whose message is for the person who starts the service. */
export function openSqliteStore({ path, clock, create }: SqliteStoreOptions): Store {
  // Absolute, so that no path is ever taken for a URI, nor depends on where the process is.
  const connection = connect(path === MEMORY ? path : resolve(path), { create }, prepareStatements)

  return {
    listAnimals({ limit, after = INT64_MIN, status }) {
      return connection.read(({ listAnimals, listAnimalsByStatus }) => {
        const rows =
          status === undefined ? listAnimals.all(after, limit) : listAnimalsByStatus.all(status, after, limit)
        return rows.map(toAnimal)
      })
    },

    findAnimal(id) {
      return connection.read(({ findAnimal }) => {
        const row = findAnimal.get(id)
        return row && toAnimal(row)
      })
    },

    createAnimals(creations) {
      return connection.write(statements => {
        const now = clock().getTime()
        return creations.map(creation => createAnimal(statements, creation, now))
      })
    },

    forgetIdempotencyKeys(atMost) {
      return connection.write(({ forget }) =>
        Number(forget.run(clock().getTime() - IDEMPOTENCY_WINDOW_MS, atMost).changes),
      )
    },

    findKey(digest) {
      return connection.read(({ findKeyByDigest }) => {
        const row = findKeyByDigest.get(Buffer.from(digest, 'hex'))
        return row && toKey(row)
      })
    },

    listKeys(environment) {
      return connection.read(({ listKeys }) => listKeys.all(environment).map(toKey))
    },

    createKey(key) {
      return connection.write(statements => insertKey(statements, key))
    },

    async createFirstKey(key) {
      const hasKeys = ({ hasKeys }: Statements) => hasKeys.get(key.environment) !== undefined
      // Most starts are not the first, and need no lock to find that out.
      if (await connection.read(hasKeys)) return false
      return connection.write(statements => {
        if (hasKeys(statements)) return false
        insertKey(statements, key)
        return true
      })
    },

    revokeKey(id, environment, at) {
      return connection.write(({ revokeKey, findKey }) => {
        revokeKey.run(at.getTime(), id, environment)
        const row = findKey.get(id, environment)
        return row && toKey(row)
      })
    },

    rotateKey(id, successor, expiresAt) {
      return connection.write(statements => {
        const row = statements.findKey.get(id, successor.environment)
        if (row === undefined || !isInForce(toKey(row), successor.createdAt)) return false
        insertKey(statements, successor)
        statements.expireKey.run(expiresAt.getTime(), id, successor.environment)
        return true
      })
    },

    ping() {
      return connection.read(({ ping }) => void ping.get())
    },

    async close() {
      connection.close()
    },
  }
}

function createAnimal(statements: Statements, { animal, idempotency }: Creation, now: number): Outcome {
  if (idempotency !== undefined) {
    const { scope, key } = idempotency
    const remembered = statements.findRemembered.get(scope, key, now - IDEMPOTENCY_WINDOW_MS)
    if (remembered !== undefined) {
      const first = toAnimal(remembered)
      return isSameAnimal(first, animal) ? { kind: 'replayed', animal: first } : { kind: 'key_reused' }
    }
  }
  const row = statements.insertAnimal.get(animal.name, animal.categoryId, animal.status ?? null)
  const id = row?.id as bigint
  if (idempotency !== undefined) statements.remember.run(idempotency.scope, idempotency.key, id, now)
  return { kind: 'created', animal: { id, ...animal } }
}

function insertKey({ insertKey }: Statements, key: ApiKey): void {
  insertKey.run(
    key.id,
    key.name,
    key.environment,
    Buffer.from(key.digest, 'hex'),
    key.scope,
    key.createdAt.getTime(),
    key.expiresAt?.getTime() ?? null,
    key.revokedAt?.getTime() ?? null,
  )
}
