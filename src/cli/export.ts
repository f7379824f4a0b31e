// `animal-store export`: writes all animals to a file or to stdout, in constant memory.

import { randomBytes } from 'node:crypto'
import { constants, linkSync, lstatSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ServiceError } from '../error.ts'
import type { Store } from '../store.ts'
import { CommandFailed, command } from './command.ts'
import { counted } from './counted.ts'
import { renderSpreadsheetSafeLine } from './csv.ts'
import { FORMATS, type Format, formatOf } from './formats.ts'
import { withReader } from './open-store.ts'
import { progressOn } from './progress.ts'
import { SettingsError } from './read-settings.ts'
import { describeSystemError } from './system-error.ts'

const PAGE_SIZE = 1_000

/** Fails if a link has taken the place of the device meanwhile. */
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
    await withReader(target, async store => {
      const start = performance.now()
      let count = 0
      const pages = renderPages(store, chosen, exported => {
        count = exported
      })
      const isComplete = await (file === '-' ? toStandardOutput(pages) : toFile(pages, file))
      const seconds = ((performance.now() - start) / 1000).toFixed(1)
      say(isComplete ? `${counted(count)} exported in ${seconds} s.` : 'The reader closed the pipe early.')
    })
  },
})

async function* renderPages(
  store: Pick<Store, 'listAnimals'>,
  { header, render }: Format,
  onCount: (count: number) => void,
): AsyncGenerator<string> {
  const progress = progressOn(process.stderr, 'exported')
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
  if (existing?.isFile() || existing?.isSymbolicLink()) throw alreadyExists(file)
  const written = existing === undefined ? `${file}.${randomBytes(8).toString('hex')}.unfinished` : file
  try {
    const output =
      existing === undefined ? await open(written, 'wx', 0o600) : await open(written, DEVICE_FLAGS)
    await pipeline(Readable.from(pages), output.createWriteStream())
    if (existing === undefined) publish(written, file)
    return true
  } catch (error) {
    if (existing === undefined) rmSync(written, { force: true })
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? alreadyExists(file) : asFailure(error, file)
  }
}

/** Gives the complete export its name. Fails with EEXIST if another file has got that name meanwhile. */
function publish(written: string, file: string): void {
  try {
    // A rename would replace another file. A link never does.
    linkSync(written, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error
    // Some file systems have no links.
    if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) throw alreadyExists(file)
    renameSync(written, file)
    return
  }
  rmSync(written)
}

function alreadyExists(file: string): CommandFailed {
  return new CommandFailed(`Cannot write ${file}: it already exists.`)
}

/** Database errors are returned unchanged: main.ts reports them. */
function asFailure(error: unknown, where: string): unknown {
  if (error instanceof ServiceError || error instanceof CommandFailed) return error
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
  const reason = isMissing ? 'the folder does not exist' : describeSystemError(error)
  return new CommandFailed(`Cannot write ${where}: ${reason}.`, { cause: error })
}
