// `animal-store backup` and `animal-store restore`: copies of a SQLite database. PostgreSQL has its own tools.

import { type DatabaseAddress, isInMemory } from '../../database/open.ts'
import { backUp, restore } from '../../database/sqlite/backup.ts'
import { isDamaged } from '../../database/sqlite/errors.ts'
import { restrictFiles } from '../../database/sqlite/files.ts'
import { formatCount } from '../../number-format.ts'
import { CommandFailed, cannotWrite, command, Interrupted, interruptible } from '../command.ts'
import { createProgress } from '../progress.ts'

const KILOBYTE = 1_000
const MEGABYTE = 1_000_000

export const backupDatabase = command({
  name: 'backup',
  summary: 'Write a verified copy of the SQLite database to a new file, while the service runs.',
  settings: ['databaseUrl', 'environment'],
  descriptions: { databaseUrl: 'sqlite:<path>' },
  examples: ['backup /var/backups/animals.db'],
  operands: ['FILE'],
  findConflicts: (_settings, [file]) => findNameProblems(file),
  async run({ databaseUrl }, [file = ''], { stderr, say }) {
    const path = sqlitePath(databaseUrl, 'pg_dump')
    const progress = createProgress(stderr, 'copied', 'MB')
    await interruptible(async signal => {
      const { animals, bytes } = await backUp(path, file, signal, copied =>
        progress.update(megabytes(copied.bytes), copied.share),
      )
        .catch(error => {
          throw signal.aborted
            ? new Interrupted('Stopped. No backup was written.')
            : asFailure(error, path, file)
        })
        .finally(progress.end)
      restrictFiles(path, say)
      say(
        `Backed up ${formatCount(animals, 'animal')} (${size(bytes)}) from ${path} to ${file}. The copy is verified.`,
      )
    })
  },
})

export const restoreDatabase = command({
  name: 'restore',
  summary: 'Replace the SQLite database by a backup, while no process uses it.',
  settings: ['databaseUrl', 'environment'],
  descriptions: { databaseUrl: 'sqlite:<path>' },
  examples: ['restore /var/backups/animals.db'],
  operands: ['FILE'],
  findConflicts: (_settings, [file]) => findNameProblems(file),
  async run({ databaseUrl }, [file = ''], { say }) {
    const path = sqlitePath(databaseUrl, 'pg_restore')
    await interruptible(async signal => {
      const { animals, oldDatabase } = await restore(file, path, new Date(), signal).catch(error => {
        throw signal.aborted
          ? new Interrupted('Stopped. Nothing was restored.')
          : asFailure(error, file, path)
      })
      if (oldDatabase !== undefined) {
        restrictFiles(oldDatabase, say)
        say(`The old database is at ${oldDatabase}.`)
        say('Keys that were revoked after the backup work again: see animal-store keys list.')
      }
      const isNew = oldDatabase === undefined ? ', where there was no database' : ''
      say(`Restored ${formatCount(animals, 'animal')} from ${file} to ${path}${isNew}. The copy is verified.`)
    })
  },
})

function findNameProblems(file: string | undefined): string[] {
  return file === '-' ? ['FILE must be the name of a file: a backup cannot be a stream'] : []
}

function sqlitePath(address: DatabaseAddress, tool: string): string {
  if (address.kind === 'sqlite') return address.path
  if (isInMemory(address)) throw new CommandFailed('A database in memory has no file to copy.')
  throw new CommandFailed(`This command is for SQLite. For PostgreSQL, use ${tool}.`)
}

function asFailure(error: unknown, source: string, written: string): unknown {
  if (!(error instanceof Error)) return error
  const hint = isDamaged(error) ? ' Check the path, or use an earlier backup.' : ''
  if ('errcode' in error)
    return new CommandFailed(`Cannot copy ${source}: ${error.message}.${hint}`, { cause: error })
  return 'syscall' in error ? cannotWrite(written, error) : error
}

function size(bytes: number): string {
  return bytes < MEGABYTE ? `${Math.ceil(bytes / KILOBYTE)} kB` : `${megabytes(bytes)} MB`
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / MEGABYTE)
}
