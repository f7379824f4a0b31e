// Opens the database that a command works on, and closes it afterwards.

import type { Environment } from '../api-key.ts'
import { systemClock } from '../clock.ts'
import { type DatabaseAddress, defaultDatabase, nameOf, openReader, openStore } from '../database/open.ts'
import type { Store } from '../store.ts'
import { CommandFailed, type Streams } from './command.ts'

/** The settings that say which database a command works on. */
export interface Target {
  readonly databaseUrl: DatabaseAddress | undefined
  readonly environment: Environment
}

export function addressOf({ databaseUrl, environment }: Target): DatabaseAddress {
  return databaseUrl ?? defaultDatabase(environment)
}

/** Returns the name of the database for messages. */
export function databaseName(target: Target): string {
  return nameOf(addressOf(target))
}

interface Options extends Pick<Streams, 'say'> {
  /** Create the database file if it does not exist. The default is false. */
  readonly create?: boolean
  readonly waitMs?: number
}

/** Returns the result of `work`. */
export async function withStore<Result>(
  target: Target,
  { create = false, waitMs, say }: Options,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await openStore(fileOrServer(target), { clock: systemClock, create, waitMs, say })
  return work(store).finally(() => store.close())
}

/** For a command that only reads animals. The database need not be writable. */
export async function withReader(
  target: Target,
  { say }: Options,
  work: (store: Pick<Store, 'listAnimals'>) => Promise<void>,
): Promise<void> {
  const store = await openReader(fileOrServer(target), { clock: systemClock, create: false, say })
  return work(store).finally(() => store.close())
}

function fileOrServer(target: Target): DatabaseAddress {
  const address = addressOf(target)
  if (address.kind === 'sqlite-memory')
    throw new CommandFailed('A database in memory is lost when this command ends; use a file instead.')
  return address
}
