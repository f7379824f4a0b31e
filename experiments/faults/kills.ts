// The service is killed again and again while clients add, change and remove animals, on both databases.

import { setTimeout as delay } from 'node:timers/promises'
import { serve } from '../../test/support/command.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { API_KEY, type Scope, temporaryFolder } from '../../test/support/service.ts'
import type { Figure, Options } from './figure.ts'
import { inScope } from './processes.ts'
import { describe, isIntact, writeContinuously, wroteMore } from './writes.ts'

const MAX_PAUSE_MS = 400

export async function kills({ quick }: Options): Promise<Figure[]> {
  const count = quick ? 2 : 160
  return [
    await inScope(scope => killOn(scope, 'SQLite', `sqlite:${temporaryFolder()}/animals.db`, count)),
    await inScope(async scope => {
      const postgres = await startPostgres([])
      scope.after(() => postgres.stop())
      return killOn(scope, 'PostgreSQL', postgres.url, count)
    }),
  ]
}

async function killOn(scope: Scope, database: string, url: string, count: number): Promise<Figure> {
  const cwd = temporaryFolder()
  const env = { ANIMAL_STORE_API_KEY: API_KEY, DATABASE_URL: url }
  const start = () => serve(scope, ['--log-level', 'warn'], { cwd, env })
  let service = await start()
  const writes = writeContinuously(() => service.address)
  for (let kill = 1; kill <= count; kill++) {
    await wroteMore(writes)
    // Each kill comes at another moment of a commit.
    await delay((kill * 37) % MAX_PAUSE_MS)
    service.child.kill('SIGKILL')
    await service.ended
    service = await start()
  }
  const outcome = await writes.finish()
  return {
    promise: `${count} kills on ${database} while clients add, change and remove animals: nothing acknowledged is lost or applied twice`,
    measured: describe(outcome),
    holds: isIntact(outcome),
  }
}
