// `animal-store backup` and `animal-store restore`: copies of a SQLite database. PostgreSQL has its own tools.

import type { Environment } from '../api-key.ts'
import { backUp } from '../database/sqlite/backup.ts'
import { restrictFiles } from '../database/sqlite/files.ts'
import { restore } from '../database/sqlite/restore.ts'
import { CommandFailed, command } from './command.ts'
import { formatCount } from './format-count.ts'
import { defaultDatabase } from './open-store.ts'
import { createProgress } from './progress.ts'
import type { DatabaseAddress } from './setting-values.ts'
import { cannotWrite } from './system-error.ts'

const KILOBYTE = 1_000
const MEGABYTE = 1_000_000

export const backupDatabase = command({
  name: 'backup',
  summary: 'Write a verified copy of the SQLite database to a new file, while the service runs.',
  settings: ['databaseUrl', 'environment'],
  examples: ['backup /var/backups/animals.db'],
  operands: ['FILE'],
  async run({ databaseUrl, environment }, [file = ''], { say }) {
    const path = sqlitePath(databaseUrl, environment, 'pg_dump')
    const progress = createProgress(process.stderr, 'copied', { unit: 'MB' })
    const { animals, bytes } = await backUp(path, file, copied =>
      progress.update(megabytes(copied.bytes), copied.share),
    )
      .catch(error => {
        throw asFailure(error, path, file)
      })
      .finally(progress.end)
    restrictFiles(path, say)
    say(`Backed up ${formatCount(animals)} (${size(bytes)}) to ${file}. The copy is verified.`)
  },
})

export const restoreDatabase = command({
  name: 'restore',
  summary: 'Replace the SQLite database by a backup, while no process uses it.',
  settings: ['databaseUrl', 'environment'],
  examples: ['restore /var/backups/animals.db'],
  operands: ['FILE'],
  async run({ databaseUrl, environment }, [file = ''], { say }) {
    const path = sqlitePath(databaseUrl, environment, 'pg_restore')
    const { animals, oldDatabase } = await restore(file, path, new Date()).catch(error => {
      throw asFailure(error, file, path)
    })
    say(`Restored ${formatCount(animals)} from ${file}. The copy is verified.`)
    if (oldDatabase === undefined) return
    say(`The old database is at ${oldDatabase}.`)
    restrictFiles(oldDatabase, say)
  },
})

function sqlitePath(address: DatabaseAddress | undefined, environment: Environment, tool: string): string {
  const database = address ?? defaultDatabase(environment)
  if (database.kind === 'sqlite') return database.path
  if (database.kind === 'sqlite-memory') throw new CommandFailed('A database in memory has no file to copy.')
  throw new CommandFailed(`This command is for SQLite. For PostgreSQL, use ${tool}; see docs/operating.md.`)
}

function asFailure(error: unknown, source: string, written: string): unknown {
  if (!(error instanceof Error)) return error
  if ('errcode' in error)
    return new CommandFailed(`The database ${source} cannot be copied: ${error.message}.`, { cause: error })
  return 'syscall' in error ? cannotWrite(written, error) : error
}

function size(bytes: number): string {
  return bytes < MEGABYTE ? `${Math.ceil(bytes / KILOBYTE)} kB` : `${megabytes(bytes)} MB`
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / MEGABYTE)
}
