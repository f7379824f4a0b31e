// The Store on SQLite, through node:sqlite: the embedded default, in one file or in memory.

import { resolve } from 'node:path'
import type { Clock } from '../clock.ts'
import { INT64_MIN } from '../json.ts'
import { toAnimal, toKey } from '../rows.ts'
import type { Outcome, Store } from '../store.ts'
import { connect } from './connection.ts'
import { MEMORY, type OpenOptions } from './open.ts'
import { prepareStatements } from './statements.ts'
import { openWriter, type Writer } from './writer.ts'
import { writesOn } from './writes.ts'

export interface SqliteStoreOptions extends OpenOptions {
  readonly path: string
  readonly clock: Clock
}

/** Opens the store, or throws an UnusableDatabase whose message is for the person who starts the service. */
export function openSqliteStore({ path, clock, create }: SqliteStoreOptions): Store {
  // Absolute, so that no path is ever taken for a URI, nor depends on where the process is.
  const file = path === MEMORY ? MEMORY : resolve(path)
  const connection = connect(file, { create }, prepareStatements)
  const { read } = connection
  // What is in memory belongs to one connection, and no disk makes it wait.
  const { write, close }: Writer = file === MEMORY ? directly() : openWriter(file, connection.refresh)

  function directly(): Writer {
    const writes = writesOn(connection)
    const write: Writer['write'] = (name, ...args) =>
      (writes[name] as (...given: typeof args) => ReturnType<(typeof writes)[typeof name]>)(...args)
    return { write, close: async () => {} }
  }

  return {
    listAnimals({ limit, after = INT64_MIN, status }) {
      return read(({ listAnimals, listAnimalsByStatus }) => {
        const rows =
          status === undefined ? listAnimals.all(after, limit) : listAnimalsByStatus.all(status, after, limit)
        return rows.map(toAnimal)
      })
    },

    renderPage({ limit, after = INT64_MIN, status }) {
      return read(({ renderPage, renderPageByStatus }) => {
        const row =
          status === undefined ? renderPage.get(after, limit) : renderPageByStatus.get(status, after, limit)
        const [json, next] = row as [string, bigint | null]
        return { json, next: next ?? undefined }
      })
    },

    renderAnimal(id) {
      return read(({ renderAnimal }) => renderAnimal.get(id)?.[0] as string | undefined)
    },

    revision: () => (file === MEMORY ? undefined : connection.revision()),

    async createAnimals(creations) {
      const outcomes = await write('createAnimals', creations, clock())
      return creations.map(({ animal }, index): Outcome => {
        const outcome = outcomes[index] as (typeof outcomes)[number]
        return typeof outcome === 'bigint' ? { kind: 'created', animal: { id: outcome, ...animal } } : outcome
      })
    },

    forgetIdempotencyKeys: atMost => write('forgetIdempotencyKeys', atMost, clock()),

    findKey(digest) {
      return read(({ findKeyByDigest }) => {
        const row = findKeyByDigest.get(Buffer.from(digest, 'hex'))
        return row && toKey(row)
      })
    },

    listKeys(environment) {
      return read(({ listKeys }) => listKeys.all(environment).map(toKey))
    },

    createKey: key => write('createKey', key),

    async createFirstKey(key) {
      // Most starts are not the first, and need no lock to find that out.
      if (await read(({ hasKeys }) => hasKeys.get(key.environment) !== undefined)) return false
      return write('createFirstKey', key)
    },

    revokeKey: (id, environment, at) => write('revokeKey', id, environment, at),

    rotateKey: (id, successor, expiresAt) => write('rotateKey', id, successor, expiresAt),

    ping() {
      return read(({ ping }) => void ping.get())
    },

    async close() {
      await close()
      connection.close()
    },
  }
}
