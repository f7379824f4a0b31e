// `animal-store migrate`: migrates the database to the latest schema, as a separate step of a deployment.

import { systemClock } from '../clock.ts'
import { COMMAND_TIMEOUTS } from '../database/postgres/limits.ts'
import { command } from './command.ts'
import { openStore } from './open-store.ts'

export const migrate = command({
  name: 'migrate',
  summary: 'Migrate the database to the latest schema, and exit.',
  settings: ['databaseUrl', 'databaseWait', 'environment'],
  examples: ['migrate --database-url postgres://admin@127.0.0.1/animals'],
  async run({ databaseUrl, databaseWait, environment }, _operands, { say }) {
    // Opening a store migrates its database.
    const store = await openStore({
      database: databaseUrl,
      environment,
      clock: systemClock,
      create: true,
      timeouts: COMMAND_TIMEOUTS,
      waitMs: databaseWait,
      say,
    })
    await store.close()
    say('The database schema is up to date.')
  },
})
