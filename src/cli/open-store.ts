// Opens the store of the configured database.

import { dirname, resolve } from 'node:path'
import type { Environment } from '../api-key.ts'
import { type Clock, systemClock } from '../clock.ts'
import { COMMAND_TIMEOUTS, type Timeouts } from '../database/postgres/limits.ts'
import { MEMORY } from '../database/sqlite/files.ts'
import { isReadOnlyFile, openReadOnly } from '../database/sqlite/read-only.ts'
import { openSqliteStore } from '../database/sqlite/store.ts'
import type { Store, StoreLog } from '../store.ts'
import { CommandFailed } from './command.ts'
import { type DatabaseAddress, defaultDatabasePath, formatDuration } from './setting-values.ts'

export interface StoreOptions {
  /** The default is the file of the environment. */
  readonly database: DatabaseAddress | undefined
  readonly environment: Environment
  readonly clock: Clock
  /** Create the database file if it does not exist. */
  readonly create: boolean
  readonly connections?: number | undefined
  /** How long to wait for PostgreSQL. The default is the time-outs of requests. */
  readonly timeouts?: Timeouts | undefined
  /**
   * How long to wait for a PostgreSQL server that is unreachable or read-only. If undefined, the first failure is
   * final, and a read-only server is accepted.
   */
  readonly waitMs?: number | undefined
  /** SQLite: start the writer thread at once instead of with the first write. */
  readonly startsWriter?: boolean | undefined
  /** Prints a message for a person. */
  readonly say?: ((text: string) => void) | undefined
  /** Where the store reports. The default is `say`. */
  readonly log?: StoreLog | undefined
}

/** Throws an UnusableDatabase if the database cannot be used. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { database, environment, clock, create, connections, timeouts, waitMs, startsWriter } = options
  const { say = () => {}, log = { warn: say, error: say } } = options
  const address = database ?? defaultDatabase(environment)
  switch (address.kind) {
    case 'postgres': {
      // Imported only here, so that a start on SQLite need not load pg.
      const { openPostgresStore } = await import('../database/postgres/store.ts')
      return openPostgresStore({
        url: address.url,
        clock,
        connections,
        timeouts,
        waitMs,
        warn: message => log.warn(message),
        onWait: reason => say(`Waiting up to ${formatDuration(waitMs ?? 0)} for PostgreSQL: ${reason}.`),
      })
    }
    case 'sqlite':
      return openSqliteStore({
        path: address.path,
        clock,
        create,
        startsWriter,
        ownsFolder: isInDefaultFolder(address.path),
        log,
      })
    case 'sqlite-memory':
      return openSqliteStore({ path: MEMORY, clock, create })
  }
}

export function defaultDatabase(environment: Environment): DatabaseAddress {
  return { kind: 'sqlite', path: defaultDatabasePath(environment) }
}

function isInDefaultFolder(path: string): boolean {
  return dirname(resolve(path)) === dirname(resolve(defaultDatabasePath('production')))
}

interface Target {
  readonly databaseUrl: DatabaseAddress | undefined
  readonly environment: Environment
  /** Create the database file if it does not exist. The default is false. */
  readonly create?: boolean
  /** Prints a message for a person. */
  readonly say?: (text: string) => void
}

/** Opens the store that a command works on, and closes it afterwards. Returns the result of `work`. */
export async function withStore<Result>(
  { databaseUrl, environment, create = false, say }: Target,
  work: (store: Store, environment: Environment) => Promise<Result>,
): Promise<Result> {
  if (databaseUrl?.kind === 'sqlite-memory') {
    throw new CommandFailed('A database in memory is lost when this command ends; use a file instead.')
  }
  const store = await openStore({
    database: databaseUrl,
    environment,
    clock: systemClock,
    create,
    timeouts: COMMAND_TIMEOUTS,
    say,
  })
  try {
    return await work(store, environment)
  } finally {
    await store.close()
  }
}

/** Opens the store for a command that only reads animals. The database need not be writable. */
export async function withReader(
  target: Target,
  work: (store: Pick<Store, 'listAnimals'>) => Promise<void>,
): Promise<void> {
  const address = target.databaseUrl ?? defaultDatabase(target.environment)
  if (address.kind !== 'sqlite' || !isReadOnlyFile(address.path)) return withStore(target, work)
  const reader = openReadOnly(address.path)
  try {
    await work(reader)
  } finally {
    await reader.close()
  }
}
