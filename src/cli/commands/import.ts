// `animal-store import`: adds the animals of a file or of stdin, in batches, in constant memory.

import { open } from 'node:fs/promises'
import { addAbortSignal, type Readable } from 'node:stream'
import type { NewAnimal } from '../../animal.ts'
import { formatCount } from '../../count.ts'
import { isNewFile, nameOf } from '../../database/open.ts'
import { ServiceError } from '../../error.ts'
import type { Store } from '../../store.ts'
import { describeSystemError } from '../../system-error.ts'
import { CommandFailed, command, Interrupted, interruptible, type Streams } from '../command.ts'
import { findFormatProblems, formatOf } from '../formats.ts'
import { reasonOf } from '../messages.ts'
import { createProgress, type Progress } from '../progress.ts'
import type { Settings } from '../settings.ts'
import { withStore } from '../with-store.ts'
import { BeyondFile, type Entry, InvalidEntry, InvalidFile, readEntries } from './import-file.ts'

const CHUNK_BYTES = 64 * 1024
const BATCH_SIZE = 1_000

export const importAnimals = command({
  name: 'import',
  summary:
    'Add the animals of a file, or of standard input if FILE is -. Animals cannot be deleted, and a second import of the same file adds them again.',
  settings: ['format', 'dryRun', 'skipInvalid', 'fromLine', 'databaseUrl', 'environment'],
  examples: [
    'import animals.csv --dry-run',
    'import animals.csv',
    'import animals.csv --skip-invalid',
    'import animals.csv --from-line 1002',
    'import - < animals.jsonl',
  ],
  operands: ['FILE'],
  findConflicts: ({ format }, [file = '-']) => findFormatProblems(file, format),
  async run({ dryRun, ...settings }, [file = '-'], { stdin, stderr, say }) {
    const source = await openSource(file, stdin)
    const task = {
      ...settings,
      format: settings.format ?? formatOf(file),
      source,
      progress: createProgress(stderr, dryRun ? 'checked' : 'imported'),
      say,
    }
    try {
      if (dryRun) await interruptible(signal => importAll({ ...task, signal }))
      else
        await withStore(settings.databaseUrl, { create: true, say }, store =>
          interruptible(signal => importAll({ ...task, signal }, store)),
        )
    } finally {
      source.stream.destroy()
    }
  },
})

interface Source {
  readonly name: string
  readonly stream: Readable
  /** Returns the part that was read, from 0 to 1, if known. */
  readonly share: () => number | undefined
}

async function openSource(file: string, stdin: Readable): Promise<Source> {
  if (file === '-') return { name: 'standard input', stream: stdin, share: () => undefined }
  try {
    const handle = await open(file)
    const stats = await handle.stat()
    const stream = handle.createReadStream({ highWaterMark: CHUNK_BYTES })
    return { name: file, stream, share: () => (stats.size > 0 ? stream.bytesRead / stats.size : undefined) }
  } catch (error) {
    throw cannotRead(file, error)
  }
}

export interface Import extends Settings<'format' | 'skipInvalid' | 'fromLine' | 'databaseUrl'> {
  readonly source: Source
  readonly progress: Progress
  /** Stops the import after the batch that is being stored. */
  readonly signal: AbortSignal
  readonly say: Streams['say']
}

/** Without a store, it only checks the file. If it ends early, the error says what was stored and how to resume. */
export async function importAll(task: Import, store?: Store): Promise<void> {
  const { source, progress, fromLine, signal, say } = task
  const database = nameOf(task.databaseUrl)
  const start = performance.now()
  let storing: Promise<void> = Promise.resolve()
  /** All lines before this one are stored or skipped. */
  let next = fromLine
  let stored = 0
  let skipped = 0
  /** The line after a batch that may be stored. */
  let nextIfStored: number | undefined

  /** Lines that are stored would be added again. */
  function howToResume(error: unknown): string {
    if (nextIfStored !== undefined)
      return ` Check whether the other animals are there. If so, resume with --from-line ${nextIfStored}, otherwise with --from-line ${next}.`
    return next > 1 && !(error instanceof BeyondFile) ? ` Resume with --from-line ${next}.` : ''
  }

  async function storeBatch({ animals, firstLine, lastLine }: ImportBatch): Promise<void> {
    try {
      await store?.write(animals.map(animal => ({ kind: 'create', animal })))
    } catch (error) {
      const isNothingStored = error instanceof ServiceError && error.isNothingStored
      if (!isNothingStored) nextIfStored = lastLine + 1
      const were = firstLine === lastLine ? 'was' : 'were'
      const outcome = isNothingStored ? `${were} not stored` : 'may be stored'
      throw new CommandFailed(`${linesOf(firstLine, lastLine)} ${outcome}: ${reasonOf(error)}.`)
    }
    stored += animals.length
    next = lastLine + 1
    progress.update(stored, source.share())
  }

  const skipInvalid = task.skipInvalid || store === undefined
  try {
    for await (const batch of batchesOf({ ...task, skipInvalid }, lines => (skipped += lines))) {
      await storing
      // The next batch is read while this one is being stored.
      storing = storeBatch(batch)
      // The next `await storing` handles a failure.
      storing.catch(() => {})
    }
    await storing
  } catch (error) {
    // A batch that failed may have been stored, and that must be said in any case.
    const reason = await storing.then(
      () => 'Stopped.',
      (failure: Error) => failure.message,
    )
    const outcome = store
      ? `${formatCount(stored, 'animal')} stored in ${database}.${howToResume(error)}`
      : 'Nothing was stored.'
    if (signal.aborted) throw new Interrupted(`${reason} ${outcome}`)
    throw new CommandFailed(`${describeImportFailure(error, source)}\n${outcome}`, { cause: error })
  } finally {
    progress.end()
  }
  if (store === undefined) return reportCheck(task, stored, skipped)
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  say(
    `${formatCount(stored, 'animal')} imported into ${database} in ${seconds} s${describeSkipped(skipped)}.`,
  )
}

function reportCheck({ databaseUrl, skipInvalid, say }: Import, valid: number, invalid: number): void {
  if (invalid > 0 && !skipInvalid)
    throw new CommandFailed(
      `${formatCount(invalid, 'line')} invalid, ${formatCount(valid, 'animal')} valid. Nothing was stored, and an import would stop at the first invalid line.`,
    )
  say(
    `An import would add ${formatCount(valid, 'animal')} to ${isNewFile(databaseUrl) ? 'the new database ' : ''}${nameOf(databaseUrl)}${describeSkipped(invalid)}. Nothing was stored.`,
  )
}

interface ImportBatch {
  readonly animals: readonly NewAnimal[]
  readonly firstLine: number
  readonly lastLine: number
}

/** Yields the valid animals. Throws a CommandFailed for an invalid entry, or reports it and its number of lines. */
async function* batchesOf(
  { source, format, fromLine, skipInvalid, signal, progress, say }: Import,
  onSkipped: (lines: number) => void,
): AsyncGenerator<ImportBatch> {
  function tell(message: string): void {
    // The bar would stay in front of the message.
    progress.end()
    say(message)
  }

  function animalOf({ firstLine, lastLine, animal }: Entry): NewAnimal | undefined {
    try {
      return animal()
    } catch (error) {
      if (!(error instanceof InvalidEntry)) throw error
      const message = `${linesOf(firstLine, lastLine)}: ${error.message}`
      if (!skipInvalid) throw new CommandFailed(message)
      tell(message)
      onSkipped(lastLine - firstLine + 1)
      return undefined
    }
  }

  let animals: NewAnimal[] = []
  let firstLine = 0
  let lastLine = 0
  for await (const entry of readEntries(addAbortSignal(signal, source.stream), format, fromLine, tell)) {
    const animal = animalOf(entry)
    if (animal === undefined) continue
    if (animals.length === 0) firstLine = entry.firstLine
    animals.push(animal)
    lastLine = entry.lastLine
    if (animals.length < BATCH_SIZE) continue
    yield { animals, firstLine, lastLine }
    animals = []
  }
  if (animals.length > 0) yield { animals, firstLine, lastLine }
}

function linesOf(first: number, last: number): string {
  return first === last ? `Line ${first}` : `Lines ${first} to ${last}`
}

function describeSkipped(lines: number): string {
  return lines > 0 ? `, ${formatCount(lines, 'line')} skipped` : ''
}

function describeImportFailure(error: unknown, { name }: Source): string {
  if (error instanceof CommandFailed || error instanceof InvalidFile) return error.message
  const isReading = (error as NodeJS.ErrnoException).syscall === 'read'
  return isReading ? cannotRead(name, error).message : `Failed: ${reasonOf(error)}.`
}

function cannotRead(file: string, error: unknown): CommandFailed {
  return new CommandFailed(`Cannot read ${file}: ${describeSystemError(error)}.`, { cause: error })
}
