// Another process locks the database, while clients create animals on SQLite.
//
//   node test/faults/locks.ts

import { serve } from '../support/command.ts'
import { API_KEY, type Scope, temporaryFolder } from '../support/service.ts'
import { lockForWriting } from '../support/sqlite.ts'
import { waitUntil } from '../support/wait.ts'
import { createContinuously, createdMore, describe, isIntact, send } from './creations.ts'
import { type Figure, report } from './figure.ts'
import { inScope } from './processes.ts'

const env = { ANIMAL_STORE_API_KEY: API_KEY }

export async function locks(): Promise<Figure[]> {
  return [await inScope(lockedDatabase)]
}

async function lockedDatabase(scope: Scope): Promise<Figure> {
  const cwd = temporaryFolder(scope)
  const { address } = await serve(scope, ['--log-level', 'silent'], { cwd, env })
  const creations = createContinuously(() => address)
  await createdMore(creations)
  const unlock = await lockUnderLoad(scope, `${cwd}/data/production.db`)
  await waitUntil(() => creations.statuses.has('503'), { what: 'creations get 503', timeoutMs: 60_000 })
  const isReadable = (await send(address, false, 'GET', '/v1/pets'))?.status === 200
  unlock()
  await createdMore(creations)
  const outcome = await creations.finish()
  return {
    promise:
      'another process locks the database: creations get 503, lists are served, and the service recovers',
    measured: `${describe(outcome)}; a list was ${isReadable ? 'served' : 'not served'}`,
    holds: isReadable && isIntact(outcome),
  }
}

/** Tries until it gets the lock, which the service holds most of the time. */
async function lockUnderLoad(scope: Scope, path: string): Promise<() => void> {
  let unlock: (() => void) | undefined
  const isLocked = () => {
    try {
      unlock = lockForWriting(scope, path)
    } catch (error) {
      if (!(error as Error).message.includes('locked')) throw error
    }
    return unlock !== undefined
  }
  await waitUntil(isLocked, { what: 'the database is locked', timeoutMs: 60_000 })
  return () => unlock?.()
}

if (import.meta.main) await report(locks)
