// Opens the store of a database URL. Besides this file, only backups know which database it is.

import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Environment } from '../api-key.ts'
import { type Clock, formatDuration } from '../clock.ts'
import { type Store, type StoreLog, UnusableDatabase } from '../store.ts'
import { type BatchedStore, batchWrites } from './batching.ts'
import type { Snapshot, Target } from './copy-database.ts'
import { COMMAND_TIMEOUTS, REQUEST_TIMEOUTS, type Timeouts } from './postgres/timeouts.ts'
import { MalformedUrl, parsePostgresUrl } from './postgres/url.ts'
import { fillSqlite, withSqliteSnapshot } from './sqlite/copying.ts'
import { isSameFile, MEMORY } from './sqlite/files.ts'
import { openSqliteStore } from './sqlite/sqlite-store.ts'

export { DEFAULT_CONNECTIONS } from './postgres/timeouts.ts'
export { MalformedUrl } from './postgres/url.ts'

export type DatabaseAddress =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'sqlite-memory' }
  | { readonly kind: 'postgres'; readonly url: string }

/** Throws a MalformedUrl. */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  if (text === 'sqlite::memory:') return { kind: 'sqlite-memory' }
  if (/^postgres(ql)?:\/\//.test(text)) {
    parsePostgresUrl(text)
    return { kind: 'postgres', url: text }
  }
  // Some programs read sqlite://x as the file /x, others as x. A path that starts with a colon is a typo.
  const path = /^sqlite:(?!\/\/[^/]|:)(.+)$/.exec(text)?.[1]
  if (path === undefined)
    throw new MalformedUrl(
      'sqlite:<path>, sqlite::memory: or postgres://user:password@host:port/database (user and password percent-encoded)',
    )
  checkPath(path)
  return { kind: 'sqlite', path }
}

/** Refuses what other programs understand in a path. Here it would name a file or a folder that nobody expects. */
function checkPath(path: string): void {
  if (path.startsWith('~'))
    throw new MalformedUrl(
      `a URL without ~, which only a shell replaces, such as sqlite:${path.replace(/^~[^/]*/, homedir())}`,
    )
  if (path.includes('?'))
    throw new MalformedUrl(`a URL without parameters, such as sqlite:${path.replace(/\?.*$/s, '')}`)
  if (/[/\\]$/.test(path))
    throw new MalformedUrl(`the URL of a file, such as sqlite:${path.replace(/^\/+/, '/')}animals.db`)
}

/** Each environment has its own file. */
export function defaultDatabase(
  environment: Environment | '<environment>',
): DatabaseAddress & { kind: 'sqlite' } {
  return { kind: 'sqlite', path: `data/${environment}.db` }
}

/** Returns a name for messages, without user name and password. */
export function nameOf(address: DatabaseAddress): string {
  if (address.kind === 'sqlite') return address.path
  return address.kind === 'sqlite-memory' ? 'sqlite::memory:' : parsePostgresUrl(address.url).name
}

/** Whether nobody else can use the database, and its contents are lost when it is closed. */
export function isInMemory({ kind }: DatabaseAddress): boolean {
  return kind === 'sqlite-memory'
}

/** Whether opening it creates a file. */
export function isNewFile(address: DatabaseAddress): boolean {
  return address.kind === 'sqlite' && !existsSync(address.path)
}

export function isSameDatabase(one: DatabaseAddress, other: DatabaseAddress): boolean {
  if (one.kind === 'sqlite' && other.kind === 'sqlite')
    return resolve(one.path) === resolve(other.path) || isSameFile(one.path, other.path)
  return one.kind === other.kind && nameOf(one) === nameOf(other)
}

export interface CopyingOptions {
  /** Stops the wait for a lock. */
  readonly signal: AbortSignal
  /** Prints a message for a person. */
  readonly say: (text: string) => void
}

/** Runs the work with a snapshot of a database, to which nobody can write meanwhile. Throws an UnusableDatabase. */
export async function withSnapshot<Result>(
  address: DatabaseAddress,
  options: CopyingOptions,
  work: (snapshot: Snapshot) => Promise<Result>,
): Promise<Result> {
  if (address.kind === 'sqlite') return withSqliteSnapshot(address.path, options.signal, work)
  if (address.kind === 'sqlite-memory') throw cannotUseMemory()
  const { withPostgresSnapshot } = await import('./postgres/copying.ts')
  return withPostgresSnapshot({ url: address.url, ...options }, work)
}

/**
 * Creates or migrates a database, and runs the work in a transaction on it, which is undone if the work fails. Throws an
 * UnusableDatabase, and writes nothing, if the database has animals or keys.
 */
export async function fillDatabase<Result>(
  address: DatabaseAddress,
  options: CopyingOptions,
  work: (target: Target) => Promise<Result>,
): Promise<Result> {
  if (address.kind === 'sqlite-memory') throw cannotUseMemory()
  if (address.kind === 'postgres') {
    const { fillPostgres } = await import('./postgres/copying.ts')
    return fillPostgres({ url: address.url, ...options }, work)
  }
  const isNew = isNewFile(address)
  const result = await fillSqlite(address.path, options.signal, options.say, work)
  if (isNew) options.say(`Created the database ${resolve(address.path)}.`)
  return result
}

export function cannotUseMemory(): UnusableDatabase {
  return new UnusableDatabase('A database in memory is lost when this command ends; use a file instead.')
}

export interface OpenOptions {
  readonly clock: Clock
  /** Create the database file, or the tables on PostgreSQL, if they do not exist. */
  readonly create: boolean
  /**
   * How long to wait for a PostgreSQL server that is unreachable or read-only. If undefined, the first failure is
   * final, and a read-only server is accepted.
   */
  readonly waitMs?: number | undefined
  /** Prints a message for a person. */
  readonly say: (text: string) => void
}

/** Opens the store for a command, which rather waits for a busy database than fails. Throws an UnusableDatabase. */
export function openStore(address: DatabaseAddress, options: OpenOptions): Promise<Store> {
  const { say } = options
  return open(address, { ...options, log: { warn: say, error: say }, timeouts: COMMAND_TIMEOUTS })
}

export interface ServiceStoreOptions extends Omit<OpenOptions, 'create'> {
  /** PostgreSQL connections per process. */
  readonly connections?: number
  /** How long a request waits for PostgreSQL. */
  readonly timeouts?: Timeouts | undefined
  readonly log: StoreLog
  /** Gets the number of writes in each commit. */
  readonly onCommit?: ((writes: number) => void) | undefined
}

/** Opens the store of the service: writes are batched, and expired idempotency keys are deleted. */
export async function openServiceStore(
  address: DatabaseAddress,
  { timeouts = REQUEST_TIMEOUTS, onCommit, ...options }: ServiceStoreOptions,
): Promise<BatchedStore> {
  const opened = await open(address, { ...options, timeouts, create: true, isForService: true })
  const isPostgres = address.kind === 'postgres'
  const batched = batchWrites(opened, {
    hasOneWritePerAnimal: isPostgres,
    queueTimeoutMs: isPostgres ? timeouts.queueMs : undefined,
    onCommit,
  })
  const store: BatchedStore = { ...batched, close: () => stopCleanUp().then(batched.close) }
  const stopCleanUp = deleteExpiredIdempotencyKeys(store, options.log)
  return store
}

async function open(
  address: DatabaseAddress,
  options: OpenOptions & ServiceStoreOptions & { readonly isForService?: boolean },
): Promise<Store> {
  const { clock, create, connections, timeouts, waitMs, isForService, say, log } = options
  if (address.kind === 'postgres') {
    // Imported only here, so that a start on SQLite need not load pg.
    const { openPostgresStore } = await import('./postgres/postgres-store.ts')
    return openPostgresStore({
      url: address.url,
      clock,
      create,
      connections,
      timeouts,
      waitMs,
      warn: message => log.warn(message),
      onWait: reason => say(`Waiting up to ${formatDuration(waitMs ?? 0)} for PostgreSQL: ${reason}.`),
    })
  }
  if (address.kind === 'sqlite-memory') return openSqliteStore({ path: MEMORY, clock, create })
  const { path } = address
  const isNew = isNewFile(address)
  const ownsFolder = dirname(resolve(path)) === dirname(resolve(defaultDatabase('production').path))
  const store = await openSqliteStore({ path, clock, create, isForService, ownsFolder, log, say })
  // The path may be relative to a folder that nobody expects.
  if (isNew) say(`Created the database ${resolve(path)}.`)
  return store
}

const CLEAN_UP_INTERVAL_MS = 60_000
const CLEAN_UP_BATCH = 1_000

/** Deletes expired idempotency keys every minute. Returns a function that stops that, after the batch in flight. */
function deleteExpiredIdempotencyKeys(
  store: Pick<Store, 'deleteExpiredIdempotencyKeys'>,
  log: StoreLog,
): () => Promise<void> {
  let running: Promise<void> | undefined
  let isStopped = false
  let hasFailed = false

  /** Deletes in small batches, each of which holds the write lock only briefly, until no expired key is left. */
  async function deleteAll(): Promise<void> {
    try {
      while (!isStopped && (await store.deleteExpiredIdempotencyKeys(CLEAN_UP_BATCH)) === CLEAN_UP_BATCH)
        await nextTurn()
      hasFailed = false
    } catch (error) {
      // An outage is one line in the log, however long it lasts.
      const { cause = error } = error as Error
      if (!hasFailed) log.warn(`could not delete expired idempotency keys: ${cause}`)
      hasFailed = true
    }
  }

  const timer = setInterval(() => {
    running ??= deleteAll().finally(() => {
      running = undefined
    })
  }, CLEAN_UP_INTERVAL_MS).unref()

  return async () => {
    isStopped = true
    clearInterval(timer)
    await running
  }
}
