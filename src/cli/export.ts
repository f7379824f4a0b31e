// `animal-store export`: writes all animals to a file or a pipe, page by page, in constant memory.

import { once } from 'node:events'
import { createWriteStream, renameSync, rmSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import type { Store } from '../store.ts'
import { CommandFailed, command } from './command.ts'
import { FORMATS, type Format } from './formats.ts'
import { formatOf } from './import.ts'
import { withLastingStore } from './open-store.ts'
import { progressOn } from './progress.ts'

const PAGE = 1_000

export const exportAnimals = command({
  name: 'export',
  summary: 'Write all animals to a file, or to standard output where FILE is - or not given.',
  settings: ['format', 'databaseUrl', 'environment'],
  operands: ['[FILE]'],
  async run({ format, ...target }, [file = '-'], { say }) {
    await withLastingStore(target, false, async store => {
      const start = performance.now()
      const written = FORMATS[format ?? formatOf(file)]
      const count = file === '-' ? await toStandardOutput(store, written) : await toFile(store, written, file)
      const seconds = ((performance.now() - start) / 1000).toFixed(1)
      say(`${count} animals exported in ${seconds} s.`)
    })
  },
})

/** A reader that has seen enough, such as \`head\`, ends the export, and that is no failure. */
async function toStandardOutput(store: Store, format: Format): Promise<number> {
  let isOpen = true
  process.stdout.on('error', error => {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
    isOpen = false
  })
  return writeAll(store, format, process.stdout, () => isOpen)
}

/** Under another name until it is whole, so that no half of an export is ever taken for one. */
async function toFile(store: Store, format: Format, file: string): Promise<number> {
  const unfinished = `${file}.unfinished`
  const stream = createWriteStream(unfinished)
  try {
    await once(stream, 'open')
    const count = await writeAll(store, format, stream, () => true)
    stream.end()
    await finished(stream)
    renameSync(unfinished, file)
    return count
  } catch (error) {
    stream.destroy()
    rmSync(unfinished, { force: true })
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined || code === 'unavailable') throw error
    throw new CommandFailed(`Cannot write ${file}: ${code}.`, { cause: error })
  }
}

async function writeAll(
  store: Store,
  { head, render }: Format,
  stream: NodeJS.WritableStream,
  isOpen: () => boolean,
): Promise<number> {
  const progress = progressOn(process.stderr, 'exported')
  let count = 0
  let after: bigint | undefined
  stream.write(head)
  while (isOpen()) {
    const animals = await store.listAnimals({ limit: PAGE, after })
    if (animals.length === 0) break
    const hasRoom = stream.write(animals.map(render).join(''))
    if (!hasRoom && isOpen()) await drained(stream)
    count += animals.length
    after = animals.at(-1)?.id
    progress.update(count)
  }
  progress.end()
  return count
}

/** Until there is room again, or never will be. */
function drained(stream: NodeJS.WritableStream): Promise<void> {
  const events = ['drain', 'close', 'error']
  return new Promise(resolve => {
    const done = () => {
      for (const event of events) stream.off(event, done)
      resolve()
    }
    for (const event of events) stream.on(event, done)
  })
}
