// The Store on SQLite, the embedded default, in a file or in memory.

import { realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { SQLInputValue } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../clock.ts'
import { unavailable } from '../../error.ts'
import type { JsonPage } from '../../page.ts'
import type { Repairs, Store, StoreLog } from '../../store.ts'
import { EMPTY_PAGE, type PageScan, toPage, toPageScan } from '../paging.ts'
import { toAnimal, toInventory, toKey } from '../rows.ts'
import { createSearchQueue } from '../search-queue.ts'
import { openConnection } from './connection.ts'
import { isLocked, toServiceError } from './errors.ts'
import { identifyFiles, MEMORY, type OpenedFiles, restrictFiles, restrictFolder } from './files.ts'
import { retryWhileLocked } from './locks.ts'
import { watchFiles } from './lost-files.ts'
import { repairDerivedData } from './repair.ts'
import {
  animalColumns,
  type OpenDatabase,
  prepareExact,
  type RunTransaction,
  runTransaction,
  type Statements,
} from './statements.ts'
import { COMMAND_TIMEOUT_MS, openWriter, REQUEST_TIMEOUT_MS } from './writer.ts'

/** A search blocks the thread: at most one in an event-loop turn, so that other requests are answered between two. */
const SEARCHES_AT_ONCE = 1

interface SqliteStoreOptions {
  readonly path: string
  readonly clock: Clock
  /** Create the file and its folder if they do not exist. */
  readonly create: boolean
  /** The folder is the default one of the service, so that other users may be kept out of it. */
  readonly ownsFolder?: boolean | undefined
  readonly log?: StoreLog | undefined
  /** Prints a message for a person, while the file is migrated. */
  readonly say?: ((text: string) => void) | undefined
  /**
   * The service, and not a command, opens the store. Then the writer thread starts now and not with the first write,
   * because later there may be no file descriptor left for it. And a write may take less time: a client is waiting.
   */
  readonly isForService?: boolean | undefined
}

/** Throws an UnusableDatabase if the file cannot be used. */
export function openSqliteStore({ path, clock, create, ...options }: SqliteStoreOptions): Store {
  const { ownsFolder = false, isForService = false, log = { warn() {}, error() {} }, say } = options
  const warn = (message: string) => log.warn(message)
  if (path === MEMORY) return createStore(openInMemory(openConnection(MEMORY, create)), clock)
  // An absolute path is never mistaken for a URI, and does not change with the working directory.
  const absolute = resolve(path)
  const connection = openConnection(absolute, create, say)
  const files = identifyFiles(absolute)
  // Only now, so that a file that was rejected stays unchanged.
  restrictFiles(realpathSync(absolute), warn)
  if (ownsFolder) restrictFolder(dirname(absolute), warn)
  return createStore(openFile(connection, files, log, isForService), clock)
}

interface Reader {
  /** Runs a step that only reads. Rejects with `unavailable` while the database cannot be used. */
  read<Result>(step: (statements: Statements) => Result): Promise<Result>
  /** Changes with every change by another connection, in this process or another. Undefined if that is unknown. */
  revision(): string | undefined
  /** Makes the next read see the newest changes, even in this event-loop turn. */
  refresh(): void
  close(): void
}

interface Connections extends Pick<Reader, 'read' | 'revision'> {
  readonly write: RunTransaction
  /** For commands: blocks the thread. */
  repair(onProgress: (completed: number) => void): Repairs
  close(): Promise<void>
}

/** A database in memory belongs to one connection, and never waits for a disk, so it needs no writer thread. */
function openInMemory(connection: OpenDatabase): Connections {
  const { read, refresh, close } = createReader(connection, () => {})
  const write = async (name: Parameters<RunTransaction>[0], ...args: readonly unknown[]) => {
    refresh()
    try {
      return runTransaction(connection, name, args)
    } catch (error) {
      throw toServiceError(error)
    }
  }
  return {
    read,
    revision: () => undefined,
    write: write as RunTransaction,
    repair(onProgress) {
      refresh()
      return repairDerivedData(connection, onProgress)
    },
    close: async () => close(),
  }
}

/** The process opens the file twice: here to read, and in the writer thread to write. */
function openFile(
  connection: OpenDatabase,
  files: OpenedFiles,
  log: StoreLog,
  isForService: boolean,
): Connections {
  const { throwIfLost, stop } = watchFiles(connection.database, files, log)
  const reader = createReader(connection, throwIfLost)
  const writer = openWriter({
    files,
    // They may have been removed during the commit.
    onWritten() {
      reader.refresh()
      throwIfLost()
    },
    log,
    timeoutMs: isForService ? REQUEST_TIMEOUT_MS : COMMAND_TIMEOUT_MS,
  })
  if (isForService) writer.start()
  return {
    read: reader.read,
    revision: reader.revision,
    async write(name, ...args) {
      throwIfLost()
      return writer.write(name, ...args)
    },
    repair(onProgress) {
      reader.refresh()
      throwIfLost()
      return repairDerivedData(connection, onProgress)
    },
    // The connection that closes last copies the WAL to the database and deletes it, which waits for the disk. So that is the one
    // of the writer thread.
    close: () =>
      writer.close(() => {
        try {
          throwIfLost()
          stop()
          reader.close()
        } catch {
          // After a loss it stays open, so that SQLite leaves the files as they are.
        }
      }),
  }
}

/**
 * Reads with the connection of the main thread. All reads of an event-loop turn share one read transaction: locking the file
 * takes as long as reading an animal (bench/notes.md). `throwIfLost` throws if a path no longer leads to the open file:
 * SQLite would go on reading a file that was moved.
 */
function createReader({ database, statements }: OpenDatabase, throwIfLost: () => void): Reader {
  const begin = prepareExact(database, 'begin')
  const commit = prepareExact(database, 'commit')
  const dataVersion = database.prepare('pragma data_version')
  let isInTurn = false
  let revision: string | undefined
  let lockWait: Promise<unknown> | undefined

  function beginTurn(): void {
    if (isInTurn) return
    throwIfLost()
    if (!database.isTransaction) begin.run()
    isInTurn = true
    setImmediate(endTurn)
  }

  function endTurn(): void {
    if (!isInTurn) return
    isInTurn = false
    revision = undefined
    try {
      if (database.isTransaction) commit.run()
    } catch {
      // The next turn continues this transaction, and ends it.
    }
  }

  function inTurn<Result>(step: () => Result): Result {
    try {
      beginTurn()
      return step()
    } catch (error) {
      endTurn()
      throw error
    }
  }

  /** While another process holds a lock, one read tries again and again, and all others wait for it. */
  function waitForLock(): Promise<unknown> {
    lockWait ??= retryWhileLocked(() => inTurn(() => dataVersion.get())).finally(() => {
      lockWait = undefined
    })
    return lockWait
  }

  async function readAfterLock<Result>(step: (statements: Statements) => Result): Promise<Result> {
    await waitForLock()
    try {
      return inTurn(() => step(statements))
    } catch (error) {
      throw toServiceError(error)
    }
  }

  return {
    // Not an async function, which would take a tenth longer to read an animal.
    read(step) {
      try {
        if (lockWait === undefined) return Promise.resolve(inTurn(() => step(statements)))
      } catch (error) {
        if (!isLocked(error)) return Promise.reject(toServiceError(error))
      }
      return readAfterLock(step)
    },

    revision() {
      try {
        return inTurn(() => {
          revision ??= String(dataVersion.get()?.data_version)
          return revision
        })
      } catch {
        return undefined
      }
    },

    refresh: endTurn,

    close() {
      endTurn()
      if (database.isOpen) database.close()
    },
  }
}

function createStore({ read, revision, write, repair, close }: Connections, clock: Clock): Store {
  const readPage = (scan: PageScan) => read(statements => runPage(statements, scan))
  const search = createSearchQueue(async scan => {
    await nextTurn()
    return readPage(scan)
  }, SEARCHES_AT_ONCE)

  return {
    listAnimals(page) {
      const { bound, limit } = toPageScan(page)
      return read(({ listAnimals }) => listAnimals.all(bound, limit).map(toAnimal))
    },

    listAnimalsAsJson(page) {
      const scan = toPageScan(page)
      return scan.search === undefined ? readPage(scan) : search(scan)
    },

    countAnimals() {
      return read(({ readInventory }) => {
        const counts = readInventory.get()
        if (counts === undefined)
          throw unavailable({ cause: new Error('The table inventory has no row. Run animal-store migrate.') })
        return toInventory(counts)
      })
    },

    findAnimalAsJson(id) {
      return read(({ findAnimalAsJson }) => findAnimalAsJson.get(id)?.[0] as string | undefined)
    },

    revision,

    async write(writes) {
      // Creations alone are stored with fewer statements.
      const animals = writes.flatMap(each =>
        each.kind === 'create' && each.idempotency === undefined ? [each.animal] : [],
      )
      if (animals.length < writes.length) return write('writeAnimals', writes, clock())
      const ids = await write('createAnimals', animals.flatMap(animalColumns))
      return animals.map((animal, index) => ({
        kind: 'created',
        animal: { id: ids[index] as bigint, ...animal },
      }))
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

    rotateKey: (id, successor, at) => write('rotateKey', id, successor, at),

    storeKeyUses: (ids, day) => write('storeKeyUses', ids, day),

    async repairDerivedData(onProgress = () => {}) {
      try {
        return repair(onProgress)
      } catch (error) {
        throw toServiceError(error)
      }
    },

    ping: () => read(({ ping }) => void ping.get()),

    close,
  }
}

function runPage(statements: Statements, scan: PageScan): JsonPage {
  const { bound, limit, status, search } = scan
  if (limit === 0) return EMPTY_PAGE
  const values: SQLInputValue[] = [bound, limit]
  if (search !== undefined)
    values.push(status ?? null, search.categoryId ?? null, search.nameContains ?? null)
  else if (status !== undefined) values.push(status)
  const row = statements.page(scan).get(...values)
  const [json, first, last, before, after] = row as [string, bigint | null, bigint | null, bigint, bigint]
  return toPage({
    json,
    first: first ?? undefined,
    last: last ?? undefined,
    isAnyBefore: before === 1n,
    isAnyAfter: after === 1n,
  })
}
