// Opens the store that an address names.

import type { Environment } from '../api-key.ts'
import { type Clock, systemClock } from '../clock.ts'
import { type DatabaseAddress, defaultDatabase } from '../setting-values.ts'
import { MEMORY } from '../sqlite/open.ts'
import { openSqliteStore } from '../sqlite/store.ts'
import { type Store, UnusableDatabase } from '../store.ts'
import { CommandFailed } from './command.ts'

export interface StoreOptions {
  readonly database: DatabaseAddress | undefined
  readonly environment: Environment
  readonly clock: Clock
  /** Make the database where there is none. */
  readonly create: boolean
}

export async function openStore({ database, environment, clock, create }: StoreOptions): Promise<Store> {
  const address = database ?? defaultDatabase(environment)
  try {
    switch (address.kind) {
      case 'postgres': {
        // Loaded here, so that nobody on SQLite waits for it.
        const { openPostgresStore } = await import('../postgres/store.ts')
        return await openPostgresStore({ url: address.url, clock })
      }
      case 'sqlite':
        return openSqliteStore({ path: address.path, clock, create })
      case 'sqlite-memory':
        return openSqliteStore({ path: MEMORY, clock, create })
    }
  } catch (error) {
    if (error instanceof UnusableDatabase) throw new CommandFailed(error.message, { cause: error })
    throw error
  }
}

export interface Target {
  readonly databaseUrl: DatabaseAddress | undefined
  readonly environment: Environment | undefined
}

/** Opens the store that a command works on, and closes it. */
export async function withLastingStore(
  { databaseUrl, environment = 'production' }: Target,
  create: boolean,
  work: (store: Store, environment: Environment) => Promise<void>,
): Promise<void> {
  if (databaseUrl?.kind === 'sqlite-memory') {
    throw new CommandFailed('sqlite::memory: ends with this command, and all that is in it; name a file.')
  }
  const store = await openStore({ database: databaseUrl, environment, clock: systemClock, create })
  try {
    await work(store, environment)
  } finally {
    await store.close()
  }
}
