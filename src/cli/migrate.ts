// `animal-store migrate`: brings the database to this version's schema, for those who deploy that way.

import { systemClock } from '../clock.ts'
import { command } from './command.ts'
import { openStore } from './open-store.ts'

export const migrate = command({
  name: 'migrate',
  summary: "Bring the database to this version's schema, and end.",
  settings: ['databaseUrl', 'environment'],
  async run({ databaseUrl, environment = 'production' }, _operands, { say }) {
    // Opening a database is all it takes.
    const store = await openStore({ database: databaseUrl, environment, clock: systemClock, create: true })
    await store.close()
    say('The database has the schema of this version.')
  },
})
