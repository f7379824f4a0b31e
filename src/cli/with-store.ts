// Opens the database that a command works on, and closes it afterwards.

import { systemClock } from '../clock.ts'
import {
  cannotUseMemory,
  type DatabaseAddress,
  isInMemory,
  type OpenOptions,
  openStore,
} from '../database/open.ts'
import type { Store } from '../store.ts'

type Options = Pick<OpenOptions, 'say' | 'waitMs'> & Partial<Pick<OpenOptions, 'create'>>

/** Returns the result of `work`. The database file is created only with `create`. */
export async function withStore<Result>(
  database: DatabaseAddress,
  { create = false, waitMs, say }: Options,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  if (isInMemory(database)) throw cannotUseMemory()
  const store = await openStore(database, { clock: systemClock, create, waitMs, say })
  return work(store).finally(() => store.close())
}
