// `animal-store export`: writes all animals to a file or to stdout, in constant memory.

import { constants, lstatSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { PRIVATE_FILE, publish, unfinishedName } from '../../database/new-file.ts'
import { nameOf } from '../../database/open.ts'
import { ServiceError } from '../../error.ts'
import { formatCount } from '../../number-format.ts'
import type { Store } from '../../store.ts'
import { cannotWrite, command, Interrupted, interruptible } from '../command.ts'
import { createRenderer, type FormatName, findFormatProblems, formatOf, type Renderer } from '../formats.ts'
import { createProgress, type Progress, secondsSince } from '../progress.ts'
import { withStore } from '../with-store.ts'

const PAGE_SIZE = 1_000

/** Opening fails if somebody has replaced the device by a symbolic link since the check. */
const DEVICE_FLAGS = constants.O_WRONLY | constants.O_NOFOLLOW

export const exportAnimals = command({
  name: 'export',
  summary: 'Write all animals to a file, or to standard output if FILE is - or not given.',
  settings: ['format', 'etags', 'spreadsheetSafe', 'databaseUrl', 'environment'],
  examples: [
    'export animals.csv',
    'export animals.csv --etags --spreadsheet-safe',
    'export | gzip > animals.jsonl.gz',
  ],
  operands: ['[FILE]'],
  findConflicts({ format, spreadsheetSafe }, [file = '-']) {
    const problems = findFormatProblems(file, format)
    if (problems.length === 0 && spreadsheetSafe && formatFor(file, format) === 'jsonl')
      problems.push(
        '--spreadsheet-safe is for CSV and TSV: add --format csv, or name a file that ends in .csv',
      )
    return problems
  },
  async run({ format, etags, spreadsheetSafe, databaseUrl }, [file = '-'], { stdout, stderr, say }) {
    const options = { isSpreadsheetSafe: spreadsheetSafe, hasTags: etags }
    const renderer = createRenderer(formatFor(file, format), options)
    await withStore(databaseUrl, { say }, async store => {
      const start = performance.now()
      const exported = { count: 0 }
      const pages = renderPages(store, renderer, createProgress(stderr, 'exported'), exported)
      try {
        await (file === '-'
          ? interruptible(signal => write(pages, stdout, signal, { end: false }))
          : writeFile(pages, file))
      } catch (error) {
        // The reader, such as `head`, has read enough.
        if ((error as NodeJS.ErrnoException).code === 'EPIPE') return say('The reader closed the pipe early.')
        const isReported = [Interrupted, ServiceError].some(type => error instanceof type)
        throw isReported ? error : cannotWrite(file === '-' ? 'the output' : file, error)
      }
      say(
        `${formatCount(exported.count, 'animal')} exported from ${nameOf(databaseUrl)} in ${secondsSince(start)} s.`,
      )
    })
  },
})

function formatFor(file: string, given: FormatName | undefined): FormatName {
  return given ?? formatOf(file) ?? 'jsonl'
}

async function* renderPages(
  store: Pick<Store, 'listAnimals'>,
  { header, render }: Renderer,
  progress: Progress,
  exported: { count: number },
): AsyncGenerator<string> {
  let after: bigint | undefined
  try {
    yield header
    for (;;) {
      const animals = await store.listAnimals({ limit: PAGE_SIZE, after })
      if (animals.length === 0) return
      yield animals.map(render).join('')
      exported.count += animals.length
      after = animals.at(-1)?.id
      progress.update(exported.count)
      // Neither reading SQLite nor writing to a terminal lets the event loop handle Ctrl+C.
      await nextTurn()
    }
  } finally {
    progress.end()
  }
}

/** Throws an Interrupted if a person stops it. */
async function write(
  pages: AsyncIterable<string>,
  output: Writable,
  signal: AbortSignal,
  options = { end: true },
): Promise<void> {
  await pipeline(pages, output, { ...options, signal }).catch(error => {
    throw signal.aborted ? new Interrupted('Stopped. The export is incomplete.') : error
  })
}

async function writeFile(pages: AsyncIterable<string>, file: string): Promise<void> {
  const existing = lstatSync(file, { throwIfNoEntry: false })
  if (existing?.isFile() || existing?.isSymbolicLink()) throw Object.assign(new Error(), { code: 'EEXIST' })
  if (existing === undefined) return interruptible(signal => writeNewFile(pages, file, signal))
  // A pipe opens only when somebody reads it.
  const device = await open(file, DEVICE_FLAGS)
  return interruptible(signal => write(pages, device.createWriteStream(), signal))
}

/** Writes under a random name until the export is complete, so that no reader sees an incomplete file. */
async function writeNewFile(pages: AsyncIterable<string>, file: string, signal: AbortSignal): Promise<void> {
  const unfinished = unfinishedName(file)
  try {
    const created = await open(unfinished, 'wx', PRIVATE_FILE)
    await write(pages, created.createWriteStream(), signal)
    publish(unfinished, file)
  } catch (error) {
    throw error instanceof Interrupted ? new Interrupted('Stopped. No file was written.') : error
  } finally {
    // After `publish` there is no file of this name.
    rmSync(unfinished, { force: true })
  }
}
