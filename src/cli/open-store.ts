// Opens the store that an address names.

import type { Environment } from '../api-key.ts'
import type { Clock } from '../clock.ts'
import type { DatabaseAddress } from '../setting-values.ts'
import { defaultDatabase } from '../settings.ts'
import { MEMORY, UnusableDatabase } from '../sqlite/open.ts'
import { openSqliteStore } from '../sqlite/store.ts'
import type { Store } from '../store.ts'
import { CommandFailed } from './command.ts'

export interface StoreOptions {
  readonly database: DatabaseAddress | undefined
  readonly environment: Environment
  readonly clock: Clock
  /** Make the database where there is none. */
  readonly create: boolean
}

export function openStore({ database, environment, clock, create }: StoreOptions): Store {
  const address = database ?? defaultDatabase(environment)
  try {
    return openSqliteStore({ path: address.kind === 'sqlite' ? address.path : MEMORY, clock, create })
  } catch (error) {
    if (error instanceof UnusableDatabase) throw new CommandFailed(error.message, { cause: error })
    throw error
  }
}
