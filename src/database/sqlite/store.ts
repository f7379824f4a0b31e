// The Store on SQLite, the embedded default, in a file or in memory.

import { resolve } from 'node:path'
import type { Clock } from '../../clock.ts'
import type { Outcome, Page, Store } from '../../store.ts'
import { pageStart } from '../page-start.ts'
import { toAnimal, toKey } from '../rows.ts'
import { connect } from './connection.ts'
import { MEMORY, type OpenOptions } from './open.ts'
import { prepareStatements, type Statements } from './statements.ts'
import { openWriter, type Writer } from './writer.ts'
import { writesOn } from './writes.ts'

export interface SqliteStoreOptions extends OpenOptions {
  readonly path: string
  readonly clock: Clock
}

/** Throws an UnusableDatabase if the file cannot be used. */
export function openSqliteStore({ path, clock, create }: SqliteStoreOptions): Store {
  // An absolute path is never mistaken for a URI, and does not change with the working directory.
  const file = path === MEMORY ? MEMORY : resolve(path)
  const connection = connect(file, { create }, prepareStatements)
  const { read } = connection
  // A database in memory belongs to one connection, and never waits for a disk, so it needs no writer thread.
  const { write, close }: Writer = file === MEMORY ? directWriter() : openWriter(file, connection.refresh)

  function directWriter(): Writer {
    const writes = writesOn(connection)
    const write: Writer['write'] = (name, ...args) =>
      (writes[name] as (...given: typeof args) => ReturnType<(typeof writes)[typeof name]>)(...args)
    return { write, close: async () => {} }
  }

  return {
    listAnimals: page => read(statements => listRows(statements, page).map(toAnimal)),

    listAnimalsAsJson(page) {
      return read(statements => {
        const [json, previous, next] = listAsJson(statements, page) as [string, bigint | null, bigint | null]
        return { json, previous: previous ?? undefined, next: next ?? undefined }
      })
    },

    findAnimalAsJson(id) {
      return read(({ findAnimalAsJson }) => findAnimalAsJson.get(id)?.[0] as string | undefined)
    },

    revision: () => (file === MEMORY ? undefined : connection.revision()),

    async createAnimals(creations) {
      const outcomes = await write('createAnimals', creations, clock())
      return creations.map(({ animal }, index): Outcome => {
        const outcome = outcomes[index] as (typeof outcomes)[number]
        return typeof outcome === 'bigint' ? { kind: 'created', animal: { id: outcome, ...animal } } : outcome
      })
    },

    deleteExpiredIdempotencyKeys: limit => write('deleteExpiredIdempotencyKeys', limit, clock()),

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
      // Usually a key already exists, and checking that needs no write lock.
      if (await read(({ hasKeys }) => hasKeys.get(key.environment) !== undefined)) return false
      return write('createFirstKey', key)
    },

    revokeKey: (id, environment, at) => write('revokeKey', id, environment, at),

    rotateKey: (id, successor, expiresAt) => write('rotateKey', id, successor, expiresAt),

    ping() {
      return read(({ ping }) => void ping.get())
    },

    async close() {
      // The connection that closes last writes the WAL to the database file, and that waits for the disk. So it must be
      // the one of the writer thread.
      connection.close()
      await close()
    },
  }
}

function listRows(statements: Statements, page: Page): unknown[][] {
  const { before, status } = page
  if (before !== undefined) {
    const rows =
      status === undefined
        ? statements.listAnimalsBefore.all(before, page.limit)
        : statements.listAnimalsBeforeByStatus.all(status, before, page.limit)
    return rows.reverse()
  }
  const { start, limit } = pageStart(page)
  return status === undefined
    ? statements.listAnimals.all(start, limit)
    : statements.listAnimalsByStatus.all(status, start, limit)
}

function listAsJson(statements: Statements, page: Page): unknown[] | undefined {
  const { before, status } = page
  if (before !== undefined) {
    return status === undefined
      ? statements.listAnimalsBeforeAsJson.get(before, page.limit)
      : statements.listAnimalsBeforeAsJsonByStatus.get(status, before, page.limit)
  }
  const { start, limit } = pageStart(page)
  return status === undefined
    ? statements.listAnimalsAsJson.get(start, limit)
    : statements.listAnimalsAsJsonByStatus.get(status, start, limit)
}
