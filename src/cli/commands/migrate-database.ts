// `animal-store migrate`: migrates the database to the latest schema, as a separate step of a deployment, and completes what older
// versions and other programs have stored.

import type { Inventory } from '../../animal.ts'
import { nameOf } from '../../database/open.ts'
import { formatCount } from '../../number-format.ts'
import type { Repairs } from '../../store.ts'
import { command } from '../command.ts'
import { createProgress } from '../progress.ts'
import { withStore } from '../with-store.ts'

export const migrateDatabase = command({
  name: 'migrate',
  summary:
    'Migrate the database to the latest schema, complete what older versions and other programs have stored, and exit.',
  settings: ['databaseUrl', 'databaseWait', 'environment'],
  examples: ['migrate', 'migrate --database-url postgres://admin@127.0.0.1/animals'],
  async run({ databaseUrl, databaseWait }, _operands, { say, stderr }) {
    const progress = createProgress(stderr, 'filled in', 'search names')
    // Opening a store migrates its database.
    const repairs = await withStore(databaseUrl, { create: true, waitMs: databaseWait, say }, store =>
      store.repairDerivedData(progress.update),
    ).finally(progress.end)
    for (const line of describeRepairs(repairs)) say(line)
    say(`The schema of ${nameOf(databaseUrl)} is up to date.`)
  },
})

function describeRepairs({ searchNames, corrected }: Repairs): string[] {
  const lines = searchNames === 0 ? [] : [`Filled in ${formatCount(searchNames, 'missing search name')}.`]
  if (corrected === undefined) return lines
  const members = Object.keys(corrected.to) as (keyof Inventory)[]
  const changes = members
    .filter(member => corrected.from[member] !== corrected.to[member])
    .map(member => `${member} ${corrected.from[member]} → ${corrected.to[member]}`)
  return [...lines, `Corrected the inventory: ${changes.join(', ')}.`]
}
