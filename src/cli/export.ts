// `animal-store export`: writes all animals to a file or to stdout, in constant memory.

import { constants, lstatSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { PRIVATE_FILE, publish, unfinishedName } from '../database/new-file.ts'
import { ServiceError } from '../error.ts'
import type { Store } from '../store.ts'
import { cannotWrite, command, Interrupted, interruptible } from './command.ts'
import { createRenderer, findFormatProblems, formatOf, type Renderer } from './formats.ts'
import { formatCount } from './messages.ts'
import { createProgress, type Progress } from './progress.ts'
import { withReader } from './with-store.ts'

const PAGE_SIZE = 1_000

/** Opening fails if somebody has replaced the device by a symbolic link since the check. */
const DEVICE_FLAGS = constants.O_WRONLY | constants.O_NOFOLLOW

export const exportAnimals = command({
  name: 'export',
  summary: 'Write all animals to a file, or to standard output if FILE is - or not given.',
  settings: ['format', 'spreadsheetSafe', 'databaseUrl', 'environment'],
  examples: ['export animals.csv', 'export | gzip > animals.jsonl.gz'],
  operands: ['[FILE]'],
  findConflicts({ format, spreadsheetSafe }, [file = '-']) {
    const problems = findFormatProblems(file, format)
    if (problems.length === 0 && spreadsheetSafe && formatFor(file, format) === 'jsonl')
      problems.push('--spreadsheet-safe is for CSV only')
    return problems
  },
  async run({ format, spreadsheetSafe, ...target }, [file = '-'], { stdout, stderr, say }) {
    const renderer = createRenderer(formatFor(file, format), spreadsheetSafe)
    await interruptible(signal =>
      withReader(target, { say }, async store => {
        const start = performance.now()
        const progress = createProgress(stderr, 'exported')
        const exported = { count: 0 }
        const pages = Readable.from(renderPages(store, renderer, progress, exported), { signal })
        try {
          if (file === '-') await toStandardOutput(pages, stdout)
          else await toFile(pages, file)
        } catch (error) {
          if (signal.aborted)
            throw new Interrupted(
              `Stopped. ${file === '-' ? 'The output is incomplete.' : 'No file was written.'}`,
            )
          // As after `head`, which has read enough.
          if (isClosedPipe(error)) return say('The reader closed the pipe early.')
          // main.ts reports errors of the database.
          throw error instanceof ServiceError ? error : cannotWrite(file === '-' ? 'the output' : file, error)
        }
        const seconds = ((performance.now() - start) / 1000).toFixed(1)
        say(`${formatCount(exported.count)} exported in ${seconds} s.`)
      }),
    )
  },
})

function formatFor(file: string, given: Parameters<typeof findFormatProblems>[1]) {
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
    }
  } finally {
    progress.end()
  }
}

function toStandardOutput(pages: Readable, stdout: Writable): Promise<void> {
  return pipeline(pages, stdout, { end: false })
}

/**
 * Writes a new file under a random name until the export is complete, so that no reader sees an incomplete file. A
 * device or a pipe is written directly.
 */
async function toFile(pages: Readable, file: string): Promise<void> {
  const existing = lstatSync(file, { throwIfNoEntry: false })
  if (existing?.isFile() || existing?.isSymbolicLink()) throw Object.assign(new Error(), { code: 'EEXIST' })
  const written = existing === undefined ? unfinishedName(file) : file
  try {
    const output =
      existing === undefined ? await open(written, 'wx', PRIVATE_FILE) : await open(written, DEVICE_FLAGS)
    await pipeline(pages, output.createWriteStream())
    if (existing === undefined) publish(written, file)
  } finally {
    // Published, it has another name.
    if (existing === undefined) rmSync(written, { force: true })
  }
}

function isClosedPipe(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EPIPE'
}
