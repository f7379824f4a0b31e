// `animal-store export`: writes all animals to a file or to stdout, in constant memory.

import { createWriteStream, lstatSync, renameSync, rmSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ServiceError } from '../error.ts'
import type { Store } from '../store.ts'
import { CommandFailed, command } from './command.ts'
import { counted } from './counted.ts'
import { FORMATS, type Format, formatOf } from './formats.ts'
import { withStore } from './open-store.ts'
import { progressOn } from './progress.ts'
import { describeSystemError } from './system-error.ts'

const PAGE_SIZE = 1_000

export const exportAnimals = command({
  name: 'export',
  summary: 'Write all animals to a file, or to standard output if FILE is - or not given.',
  settings: ['format', 'databaseUrl', 'environment'],
  examples: ['export animals.csv', 'export | gzip > animals.jsonl.gz'],
  operands: ['[FILE]'],
  async run({ format, ...target }, [file = '-'], { say }) {
    await withStore(target, false, async store => {
      const start = performance.now()
      let count = 0
      const pages = renderPages(store, FORMATS[format ?? formatOf(file)], exported => {
        count = exported
      })
      const isComplete = await (file === '-' ? toStandardOutput(pages) : toFile(pages, file))
      const seconds = ((performance.now() - start) / 1000).toFixed(1)
      say(isComplete ? `${counted(count)} exported in ${seconds} s.` : 'The reader closed the pipe early.')
    })
  },
})

async function* renderPages(
  store: Store,
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

/** Writes under another name until the export is complete, so that no reader sees an incomplete file. */
async function toFile(pages: AsyncIterable<string>, file: string): Promise<true> {
  // A rename would replace a device, a pipe or a link.
  const isPlain = lstatSync(file, { throwIfNoEntry: false })?.isFile() ?? true
  const written = isPlain ? `${file}.unfinished` : file
  try {
    await pipeline(Readable.from(pages), createWriteStream(written))
    if (isPlain) renameSync(written, file)
    return true
  } catch (error) {
    if (isPlain) rmSync(written, { force: true })
    throw asFailure(error, file)
  }
}

/** Database errors are returned unchanged: main.ts reports them. */
function asFailure(error: unknown, where: string): unknown {
  if (error instanceof ServiceError) return error
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
  const reason = isMissing ? 'the folder does not exist' : describeSystemError(error)
  return new CommandFailed(`Cannot write ${where}: ${reason}.`, { cause: error })
}
