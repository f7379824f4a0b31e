// `animal-store import`: adds the animals of a file or a pipe, in batches, in constant memory.

import type { ReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { NewAnimal } from '../animal.ts'
import { ServiceError } from '../error.ts'
import type { FormatName } from '../setting-values.ts'
import type { Creation, Store } from '../store.ts'
import { CommandFailed, command, type Streams } from './command.ts'
import { type Entry, FORMATS, MAX_ENTRY_BYTES } from './formats.ts'
import { lineSplitter } from './lines.ts'
import { withLastingStore } from './open-store.ts'
import { type Progress, progressOn } from './progress.ts'

const BATCH = 1_000
const CHUNK_BYTES = 64 * 1024

export const importAnimals = command({
  name: 'import',
  summary: 'Add the animals of a file, or of standard input where FILE is -.',
  settings: ['format', 'skipInvalid', 'fromLine', 'databaseUrl', 'environment'],
  operands: ['FILE'],
  async run({ format, skipInvalid = false, fromLine = 1, ...target }, [file = '-'], streams) {
    const source = await openSource(file)
    const progress = progressOn(process.stderr, 'imported')
    await withLastingStore(target, true, store =>
      importAll({
        store,
        source,
        format: format ?? formatOf(file),
        skipInvalid,
        fromLine,
        progress,
        streams,
      }),
    )
  },
})

export function formatOf(file: string): FormatName {
  return file.toLowerCase().endsWith('.csv') ? 'csv' : 'jsonl'
}

interface Source {
  readonly stream: ReadStream | NodeJS.ReadStream
  /** Where it is known. */
  readonly bytes: number | undefined
}

async function openSource(file: string): Promise<Source> {
  if (file === '-') return { stream: process.stdin, bytes: undefined }
  try {
    const handle = await open(file)
    const stats = await handle.stat()
    const stream = handle.createReadStream({ highWaterMark: CHUNK_BYTES })
    return { stream, bytes: stats.isFile() ? stats.size : undefined }
  } catch (error) {
    throw new CommandFailed(`Cannot read ${file}: ${(error as NodeJS.ErrnoException).code ?? error}.`, {
      cause: error,
    })
  }
}

interface Import {
  readonly store: Store
  readonly source: Source
  readonly format: FormatName
  readonly skipInvalid: boolean
  readonly fromLine: number
  readonly progress: Progress
  readonly streams: Streams
}

interface Batch {
  readonly firstLine: number
  readonly creations: Creation[]
}

/** Throws a CommandFailed that says what was stored and how to go on, whatever ends it early. */
async function importAll(task: Import): Promise<void> {
  const { store, source, fromLine, skipInvalid, progress } = task
  const { say } = task.streams
  const reader = FORMATS[task.format].reader()
  const start = performance.now()
  const whole: Batch[] = []
  let gathering: Batch | undefined
  let storing: Promise<void> = Promise.resolve()
  let next = fromLine
  let stored = 0
  let skipped = 0
  let bytes = 0
  let isStopped = false

  function take(entry: Entry | undefined): void {
    if (entry === undefined || entry.line < fromLine) return
    next = entry.line + 1
    const animal = animalOf(entry)
    if (animal === undefined) return
    gathering ??= { firstLine: entry.line, creations: [] }
    gathering.creations.push({ animal })
    if (gathering.creations.length === BATCH) finishBatch()
  }

  function animalOf(entry: Entry): NewAnimal | undefined {
    try {
      return entry.animal()
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      const words = `Line ${entry.line}: ${error.message}`
      if (!skipInvalid) throw stopped(words, gathering?.firstLine ?? entry.line)
      say(words)
      skipped++
      return undefined
    }
  }

  function finishBatch(): void {
    if (gathering !== undefined) whole.push(gathering)
    gathering = undefined
  }

  /** While one batch is being stored the next is read. */
  async function storeWhole(): Promise<void> {
    for (let batch = whole.shift(); batch !== undefined && !isStopped; batch = whole.shift()) {
      await storing
      storing = storeBatch(batch)
      // Whoever waits for it next is told.
      storing.catch(() => {})
    }
  }

  async function storeBatch({ firstLine, creations }: Batch): Promise<void> {
    try {
      await store.createAnimals(creations)
    } catch (error) {
      const cause = error instanceof ServiceError ? error.cause : error
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw stopped(
        `The ${creations.length} animals from line ${firstLine} on were not stored: ${reason}.`,
        firstLine,
      )
    }
    stored += creations.length
    progress.update(stored, source.bytes && bytes / source.bytes)
  }

  function stopped(words: string, line: number): CommandFailed {
    return new CommandFailed(`${words}\n${counted(stored)} stored. Go on with --from-line ${line}.`)
  }

  const stop = () => {
    isStopped = true
    source.stream.destroy()
  }
  process.once('SIGINT', stop).once('SIGTERM', stop)
  const lines = lineSplitter(MAX_ENTRY_BYTES, (line, number) => take(reader.read(line, number)))
  try {
    for await (const chunk of source.stream) {
      bytes += chunk.length
      lines.push(chunk)
      await storeWhole()
    }
    lines.end()
    take(reader.end())
    finishBatch()
    await storeWhole()
    await storing
  } catch (error) {
    await storing
    if (!isStopped) throw error
    throw stopped('Stopped.', whole[0]?.firstLine ?? gathering?.firstLine ?? next)
  } finally {
    progress.end()
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  say(`${counted(stored)} imported in ${seconds} s${skipped > 0 ? `, ${skipped} lines skipped` : ''}.`)
}

function counted(animals: number): string {
  return animals === 1 ? '1 animal' : `${animals} animals`
}
