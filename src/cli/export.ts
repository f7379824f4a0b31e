// `animal-store export`: writes all animals to a file or to stdout, in constant memory.

import { constants, lstatSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { PRIVATE_FILE, publish, unfinishedName } from '../database/new-file.ts'
import { ServiceError } from '../error.ts'
import type { Store } from '../store.ts'
import { CommandFailed, command } from './command.ts'
import { renderSpreadsheetSafeLine } from './csv.ts'
import { formatCount } from './format-count.ts'
import { FORMATS, type Format, formatOf } from './formats.ts'
import { withReader } from './open-store.ts'
import { createProgress } from './progress.ts'
import { SettingsError } from './read-settings.ts'
import { cannotWrite } from './system-error.ts'

const PAGE_SIZE = 1_000

/** Opening fails if somebody has replaced the device by a symbolic link since the check. */
const DEVICE_FLAGS = constants.O_WRONLY | constants.O_NOFOLLOW

export const exportAnimals = command({
  name: 'export',
  summary: 'Write all animals to a file, or to standard output if FILE is - or not given.',
  settings: ['format', 'spreadsheetSafe', 'databaseUrl', 'environment'],
  examples: ['export animals.csv', 'export | gzip > animals.jsonl.gz'],
  operands: ['[FILE]'],
  async run({ format, spreadsheetSafe, ...target }, [file = '-'], { say }) {
    const name = format ?? formatOf(file)
    if (spreadsheetSafe && name !== 'csv') throw new SettingsError(['--spreadsheet-safe is for CSV only'])
    const chosen = spreadsheetSafe ? { ...FORMATS[name], render: renderSpreadsheetSafeLine } : FORMATS[name]
    await withReader({ ...target, say }, async store => {
      const start = performance.now()
      let count = 0
      const pages = renderPages(store, chosen, exported => {
        count = exported
      })
      const isComplete = await (file === '-' ? toStandardOutput(pages) : toFile(pages, file))
      const seconds = ((performance.now() - start) / 1000).toFixed(1)
      say(
        isComplete ? `${formatCount(count)} exported in ${seconds} s.` : 'The reader closed the pipe early.',
      )
    })
  },
})

async function* renderPages(
  store: Pick<Store, 'listAnimals'>,
  { header, render }: Format,
  onCount: (count: number) => void,
): AsyncGenerator<string> {
  const progress = createProgress(process.stderr, 'exported')
  let count = 0
  let after: bigint | undefined
  try {
    yield header
    for (;;) {
      const animals = await store.listAnimals({ limit: PAGE_SIZE, after })
      if (animals.length === 0) return
      yield animals.map(render).join('')
      count += animals.length
      after = animals.at(-1)?.id
      onCount(count)
      progress.update(count)
    }
  } finally {
    progress.end()
  }
}

/** Returns false if the reader closed the pipe early, as `head` does. That is not a failure. */
async function toStandardOutput(pages: AsyncIterable<string>): Promise<boolean> {
  try {
    await pipeline(Readable.from(pages), process.stdout, { end: false })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return false
    throw asFailure(error, 'to standard output')
  }
}

/**
 * Writes a new file under a random name until the export is complete, so that no reader sees an incomplete file. A
 * device or a pipe is written directly.
 */
async function toFile(pages: AsyncIterable<string>, file: string): Promise<true> {
  const existing = lstatSync(file, { throwIfNoEntry: false })
  if (existing?.isFile() || existing?.isSymbolicLink()) throw cannotWrite(file, { code: 'EEXIST' })
  const written = existing === undefined ? unfinishedName(file) : file
  try {
    const output =
      existing === undefined ? await open(written, 'wx', PRIVATE_FILE) : await open(written, DEVICE_FLAGS)
    await pipeline(Readable.from(pages), output.createWriteStream())
    if (existing === undefined) publish(written, file)
    return true
  } catch (error) {
    if (existing === undefined) rmSync(written, { force: true })
    throw asFailure(error, file)
  }
}

/** Database errors are returned unchanged: main.ts reports them. */
function asFailure(error: unknown, where: string): unknown {
  if (error instanceof ServiceError || error instanceof CommandFailed) return error
  return cannotWrite(where, error)
}
