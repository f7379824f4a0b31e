// `animal-store migrate`: migrates the database to the latest schema, as a separate step of a deployment.

import { nameOf } from '../database/open.ts'
import { command } from './command.ts'
import { withStore } from './with-store.ts'

export const migrate = command({
  name: 'migrate',
  summary: 'Migrate the database to the latest schema, and exit.',
  settings: ['databaseUrl', 'databaseWait', 'environment'],
  examples: ['migrate', 'migrate --database-url postgres://admin@127.0.0.1/animals'],
  async run({ databaseUrl, databaseWait }, _operands, { say }) {
    // Opening a store migrates its database.
    await withStore(databaseUrl, { create: true, waitMs: databaseWait, say }, async () => {})
    say(`The schema of ${nameOf(databaseUrl)} is up to date.`)
  },
})
