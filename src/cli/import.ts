// `animal-store import`: adds the animals of a file or of stdin, in batches, in constant memory.

import { open } from 'node:fs/promises'
import { ServiceError } from '../error.ts'
import type { Store } from '../store.ts'
import { CommandFailed, command, type Streams } from './command.ts'
import { formatCount } from './format-count.ts'
import { type Batch, type BatchOptions, batchesOf, InvalidLine, type Source } from './import-batches.ts'
import { withStore } from './open-store.ts'
import { createProgress, type Progress } from './progress.ts'
import { describeSystemError, reasonOf } from './system-error.ts'

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
    const progress = createProgress(process.stderr, 'imported')
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

export interface Import extends BatchOptions {
  readonly store: Store
  /** Stops the import after the batch that is being stored. */
  readonly stopSignal: AbortSignal
  readonly progress: Progress
  readonly streams: Streams
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
    throw new CommandFailed(`${reason}\n${formatCount(stored)} stored. Resume with --from-line ${next}.`, {
      cause: error,
    })
  } finally {
    progress.end()
    stopSignal.removeEventListener('abort', stop)
  }
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  say(
    `${formatCount(stored)} imported in ${seconds} s${skipped > 0 ? `, ${formatCount(skipped, 'line')} skipped` : ''}.`,
  )
}

/** A batch that could not be stored. */
class StoreFailed extends Error {}

function describeFailure(error: unknown, { name }: Source): string {
  if (error instanceof InvalidLine || error instanceof StoreFailed) return error.message
  if (error instanceof ServiceError) return `The header is invalid: ${error.message}`
  const isReading = (error as NodeJS.ErrnoException).syscall === 'read'
  return isReading ? `Cannot read ${name}: ${describeSystemError(error)}.` : `Failed: ${reasonOf(error)}.`
}
