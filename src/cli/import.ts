// `animal-store import`: adds the animals of a file or of stdin, in batches, in constant memory.

import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { NewAnimal } from '../animal.ts'
import { ServiceError } from '../error.ts'
import type { Creation, Store } from '../store.ts'
import { CommandFailed, command, type Streams } from './command.ts'
import { counted } from './counted.ts'
import { FORMATS, formatOfSource } from './formats.ts'
import type { Entry, Reader } from './import-entry.ts'
import { Lines } from './import-lines.ts'
import { withStore } from './open-store.ts'
import { type Progress, progressOn } from './progress.ts'
import type { FormatName } from './setting-values.ts'
import { describeSystemError } from './system-error.ts'

const BATCH_SIZE = 1_000
const CHUNK_BYTES = 64 * 1024

export const importAnimals = command({
  name: 'import',
  summary: 'Add the animals of a file, or of standard input if FILE is -.',
  settings: ['format', 'skipInvalid', 'fromLine', 'databaseUrl', 'environment'],
  examples: [
    'import animals.csv',
    'import animals.csv --skip-invalid',
    'import animals.csv --from-line 1001',
    'import - < animals.jsonl',
  ],
  operands: ['FILE'],
  async run({ format, skipInvalid, fromLine, ...target }, [file = '-'], streams) {
    const source = await openSource(file)
    const progress = progressOn(process.stderr, 'imported')
    const { stopSignal, release } = stopOnSignals()
    const options = { format, skipInvalid, fromLine, stopSignal }
    try {
      await withStore({ ...target, create: true, say: streams.say }, store =>
        importAll({ store, source, progress, streams, ...options }),
      )
    } finally {
      source.stream.destroy()
      release()
    }
  },
})

/**
 * Aborts on SIGINT or SIGTERM. Further signals have no effect: a launcher may forward a signal that this process has
 * already received, and the process must print how to resume before it ends.
 */
function stopOnSignals(): { stopSignal: AbortSignal; release(): void } {
  const controller = new AbortController()
  const stop = () => controller.abort()
  process.on('SIGINT', stop).on('SIGTERM', stop)
  return {
    stopSignal: controller.signal,
    // Delayed until main.ts has printed the message.
    release: () => void setImmediate(() => process.off('SIGINT', stop).off('SIGTERM', stop)),
  }
}

export interface Source {
  readonly name: string
  readonly stream: Readable
  /** Its size, if known. */
  readonly bytes: number | undefined
}

async function openSource(file: string): Promise<Source> {
  if (file === '-') return { name: 'standard input', stream: process.stdin, bytes: undefined }
  try {
    const handle = await open(file)
    const stats = await handle.stat()
    const stream = handle.createReadStream({ highWaterMark: CHUNK_BYTES })
    return { name: file, stream, bytes: stats.isFile() ? stats.size : undefined }
  } catch (error) {
    throw new CommandFailed(`Cannot read ${file}: ${describeSystemError(error)}.`, { cause: error })
  }
}

export interface Import {
  readonly store: Store
  readonly source: Source
  /** Without it, the name and the content of the source decide. */
  readonly format: FormatName | undefined
  readonly skipInvalid: boolean
  readonly fromLine: number
  /** Stops the import after the batch that is being stored. */
  readonly stopSignal: AbortSignal
  readonly progress: Progress
  readonly streams: Streams
}

interface Batch {
  readonly creations: Creation[]
  lastLine: number
  /** How much of the source was read when the batch was complete. */
  readBytes: number
}

/** If the import ends early, throws a CommandFailed that says what was stored and how to resume. */
export async function importAll(task: Import): Promise<void> {
  const { store, source, progress, fromLine, stopSignal } = task
  const { say } = task.streams
  const start = performance.now()
  let storing: Promise<void> = Promise.resolve()
  /** All lines before this one are stored or skipped. */
  let next = fromLine
  let stored = 0
  let skipped = 0

  async function storeBatch({ creations, lastLine, readBytes }: Batch): Promise<void> {
    try {
      await store.createAnimals(creations)
    } catch (error) {
      throw new StoreFailed(
        `Lines ${next} to ${lastLine}: ${reasonOf(error)}. They may have been stored anyway: check before you resume.`,
      )
    }
    stored += creations.length
    next = lastLine + 1
    progress.update(stored, source.bytes && readBytes / source.bytes)
  }

  const stop = () => source.stream.destroy()
  stopSignal.addEventListener('abort', stop)
  try {
    stopSignal.throwIfAborted()
    const onInvalid = (message: string, lines: number) => {
      say(message)
      skipped += lines
    }
    for await (const batch of batchesOf(task, onInvalid)) {
      await storing
      // The next batch is read while this one is being stored.
      storing = storeBatch(batch)
      // The next `await storing` handles a failure.
      storing.catch(() => {})
    }
    await storing
    stopSignal.throwIfAborted()
  } catch (error) {
    await storing.catch(() => {})
    const reason = stopSignal.aborted ? 'Stopped.' : describeFailure(error, source)
    throw new CommandFailed(`${reason}\n${counted(stored)} stored. Resume with --from-line ${next}.`, {
      cause: error,
    })
  } finally {
    progress.end()
    stopSignal.removeEventListener('abort', stop)
  }
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  say(
    `${counted(stored)} imported in ${seconds} s${skipped > 0 ? `, ${counted(skipped, 'line')} skipped` : ''}.`,
  )
}

/** A line that is not a valid animal. */
class InvalidLine extends Error {}

/** A batch that could not be stored. */
class StoreFailed extends Error {}

/**
 * Yields the animals of the source in batches. If reading fails or a line is invalid, it first yields the batches that
 * are complete.
 */
async function* batchesOf(
  { source, format, fromLine, skipInvalid }: Import,
  onInvalid: (message: string, lines: number) => void,
): AsyncGenerator<Batch> {
  let read: Reader | undefined
  const lines = new Lines()
  let complete: Batch[] = []
  let batch = emptyBatch()
  let readBytes = 0
  let failure: unknown

  function take(entry: Entry): void {
    const animal = animalOf(entry)
    if (animal === undefined) return
    batch.creations.push({ animal })
    batch.lastLine = entry.lastLine
    batch.readBytes = readBytes
    if (batch.creations.length < BATCH_SIZE) return
    complete.push(batch)
    batch = emptyBatch()
  }

  function animalOf({ firstLine, lastLine, animal }: Entry): NewAnimal | undefined {
    try {
      return animal()
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      const lines = firstLine === lastLine ? `Line ${firstLine}` : `Lines ${firstLine} to ${lastLine}`
      const message = `${lines}: ${error.message}`
      if (!skipInvalid) throw new InvalidLine(message)
      onInvalid(message, lastLine - firstLine + 1)
      return undefined
    }
  }

  try {
    for await (const chunk of source.stream) {
      readBytes += chunk.length
      read ??= FORMATS[format ?? formatOfSource(source.name, chunk)].reader(fromLine)
      lines.push(chunk)
      for (const entry of read(lines)) take(entry)
      yield* complete
      complete = []
    }
    lines.end()
    for (const entry of read?.(lines) ?? []) take(entry)
    complete.push(batch)
  } catch (error) {
    failure = error
  }
  yield* complete.filter(({ creations }) => creations.length > 0)
  if (failure !== undefined) throw failure
}

function emptyBatch(): Batch {
  return { creations: [], lastLine: 0, readBytes: 0 }
}

function describeFailure(error: unknown, { name }: Source): string {
  if (error instanceof InvalidLine || error instanceof StoreFailed) return error.message
  if (error instanceof ServiceError) return `The header is invalid: ${error.message}`
  const isReading = (error as NodeJS.ErrnoException).syscall === 'read'
  return isReading ? `Cannot read ${name}: ${describeSystemError(error)}.` : `Failed: ${reasonOf(error)}.`
}

function reasonOf(error: unknown): string {
  return describeSystemError(error instanceof ServiceError ? (error.cause ?? error) : error)
}
