// `animal-store copy`: puts everything of one database into another, with all ids and keys.

import { copySnapshot } from '../../database/copy-database.ts'
import {
  type DatabaseAddress,
  fillDatabase,
  isSameDatabase,
  nameOf,
  withSnapshot,
} from '../../database/open.ts'
import { formatCount } from '../../number-format.ts'
import { command, Interrupted, interruptible } from '../command.ts'
import { createProgress, type Progress, secondsSince } from '../progress.ts'

export const copyDatabase = command({
  name: 'copy',
  summary:
    'Copy everything into another database, SQLite or PostgreSQL: animals with their ids, keys, answers to retries and the next id. Nobody can write to this one meanwhile.',
  settings: ['to', 'databaseUrl', 'environment'],
  examples: [
    'copy --to postgres://animals@127.0.0.1/animals',
    'copy --database-url postgres://animals@127.0.0.1/animals --to sqlite:/srv/animals.db',
  ],
  findConflicts({ to, databaseUrl }) {
    return to !== undefined && isSameDatabase(to, databaseUrl)
      ? ['--to (TO_DATABASE_URL) must be another database than --database-url (DATABASE_URL)']
      : []
  },
  async run({ to, databaseUrl }, _operands, { stderr, say }) {
    const target = to as DatabaseAddress
    const copying = createProgress(stderr, 'copied')
    let comparing: Progress | undefined
    const start = performance.now()
    await interruptible(async signal => {
      const options = { signal, say }
      const { animals, keys } = await withSnapshot(databaseUrl, options, snapshot =>
        fillDatabase(target, options, filled =>
          copySnapshot(snapshot, filled, {
            signal,
            onCopied: copying.update,
            onCompared(animals) {
              comparing ??= createProgress(stderr, 'compared')
              comparing.update(animals)
            },
          }),
        ),
      )
        .catch(error => {
          throw signal.aborted ? new Interrupted('Stopped. Nothing was copied.') : error
        })
        .finally(copying.end)
      say(
        `${formatCount(animals, 'animal')} and ${formatCount(keys, 'key')} copied from ${nameOf(databaseUrl)} to ${nameOf(target)} in ${secondsSince(start)} s, and compared. Now set DATABASE_URL to the new database: what is written to the old one from now on is missing there.`,
      )
    })
  },
})
