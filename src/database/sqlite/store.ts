// The Store on SQLite, the embedded default, in a file or in memory.

import { dirname, resolve } from 'node:path'
import type { Clock } from '../../clock.ts'
import type { Outcome, Page, Store, Warn } from '../../store.ts'
import { pageStart } from '../page-start.ts'
import { animalValues, toAnimal, toKey } from '../rows.ts'
import { MEMORY } from './files.ts'
import { createLockState } from './lock-state.ts'
import { restrictFiles, restrictFolder } from './permissions.ts'
import { createReader } from './reader.ts'
import { openSession, type Session } from './session.ts'
import type { Statements } from './statements.ts'
import { createWriteTransactions } from './write-transactions.ts'
import { openWriter, type Writer } from './writer.ts'
import { createWrites } from './writes.ts'

export interface SqliteStoreOptions {
  readonly path: string
  readonly clock: Clock
  /** Create the file and its folder if they do not exist. */
  readonly create: boolean
  /** The folder is the default one of the service, so that other users may be kept out of it. */
  readonly ownsFolder?: boolean | undefined
  readonly warn?: Warn | undefined
  /** Start the writer thread now and not with the first write: later there may be no file descriptor left for it. */
  readonly startsWriter?: boolean | undefined
}

/** How long opening waits for the lock, because several processes may start on one file at the same time. */
const OPEN_TIMEOUT_MS = 2_000

/** Throws an UnusableDatabase if the file cannot be used. */
export function openSqliteStore(options: SqliteStoreOptions): Store {
  const { path, clock, create, ownsFolder = false, warn = () => {}, startsWriter = false } = options
  // An absolute path is never mistaken for a URI, and does not change with the working directory.
  const file = path === MEMORY ? MEMORY : resolve(path)
  const first = openSession(file, { create, lockTimeoutMs: OPEN_TIMEOUT_MS })
  const restrict = () => (file === MEMORY ? undefined : restrictFiles(file, warn))
  // Only now, so that a file that was rejected stays unchanged.
  restrict()
  if (ownsFolder) restrictFolder(dirname(file), warn)
  const lockState = startsWriter && file !== MEMORY ? createLockState() : undefined
  const reader = createReader(file, first, {
    lockState,
    prepareFile: () => write('prepareFile'),
    onReopened: restrict,
  })
  const { read } = reader
  // A database in memory belongs to one connection, and never waits for a disk, so it needs no writer thread.
  const writer: Writer =
    file === MEMORY
      ? directWriter(first, reader.refresh)
      : openWriter({
          path: file,
          checkedFile: first.file,
          lockState,
          onWritten: reader.refresh,
          onReleased: reader.release,
        })
  const { write } = writer
  if (startsWriter) writer.start()

  return {
    listAnimals(page) {
      const { start, limit } = pageStart(page)
      return read(({ listAnimals }) => listAnimals.all(start, limit).map(toAnimal))
    },

    listAnimalsAsJson(page) {
      return read(statements => {
        const [json, previous, next] = listAsJson(statements, page) as [string, bigint | null, bigint | null]
        return { json, previous: previous ?? undefined, next: next ?? undefined }
      })
    },

    findAnimalAsJson(id) {
      return read(({ findAnimalAsJson }) => findAnimalAsJson.get(id)?.[0] as string | undefined)
    },

    revision: () => (file === MEMORY ? undefined : reader.revision()),

    async createAnimals(creations) {
      const hasKeys = creations.some(({ idempotency }) => idempotency !== undefined)
      const outcomes = hasKeys
        ? await write('createAnimalsWithKeys', creations, clock())
        : await write(
            'createAnimals',
            creations.flatMap(({ animal }) => animalValues(animal)),
          )
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

    async ping() {
      if (startsWriter) await writer.started()
      await reader.checkWal()
      return read(({ ping }) => void ping.get())
    },

    async close() {
      // The connection that closes last writes the WAL to the database file, and that waits for the disk. So it must be
      // the one of the writer thread.
      reader.close()
      await writer.close()
    },
  }
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

function directWriter(shared: Session, beforeWrite: () => void): Writer {
  const transactions = createWriteTransactions(MEMORY, { checkedFile: MEMORY, shared, beforeWrite })
  const writes = createWrites(transactions)
  const write: Writer['write'] = (name, ...args) =>
    (writes[name] as (...given: typeof args) => ReturnType<(typeof writes)[typeof name]>)(...args)
  return { write, start() {}, started: async () => {}, close: async () => transactions.close() }
}
