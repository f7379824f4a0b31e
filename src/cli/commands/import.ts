// `animal-store import`: adds the animals of a file or of stdin, or changes them with --update, in batches, in constant memory.

import { open } from 'node:fs/promises'
import { addAbortSignal, type Readable } from 'node:stream'
import type { NewAnimal } from '../../animal.ts'
import { findProblems, toNewAnimal } from '../../animal-json.ts'
import { isNewFile, nameOf } from '../../database/open.ts'
import { formatCount } from '../../number-format.ts'
import type { Store } from '../../store.ts'
import { CommandFailed, command, interruptible } from '../command.ts'
import { findFormatProblems, formatOf } from '../formats.ts'
import { createProgress, secondsSince } from '../progress.ts'
import { withStore } from '../with-store.ts'
import {
  BATCH_SIZE,
  cannotRead,
  type ImportTask,
  isNothingStored,
  type LineRange,
  linesOf,
  notStored,
  type Source,
  storeBatches,
  tell,
} from './import-batches.ts'
import {
  BeyondFile,
  type Entry,
  InvalidEntry,
  NEW_ANIMALS,
  readEntries,
  rejectProblems,
} from './import-file.ts'
import { updateAll } from './import-update.ts'

const CHUNK_BYTES = 64 * 1024

export const importAnimals = command({
  name: 'import',
  summary:
    'Add the animals of a file, or of standard input if FILE is -. A second import of the same file adds them again. With --update, change the animals with the ids of the file, and add none. It removes nothing, either way.',
  settings: [
    'format',
    'dryRun',
    'skipInvalid',
    'fromLine',
    'update',
    'overwrite',
    'databaseUrl',
    'environment',
  ],
  examples: [
    'import animals.csv --dry-run',
    'import animals.csv',
    'import animals.csv --skip-invalid',
    'import animals.csv --from-line 1002',
    'import - < animals.jsonl',
    'import --update edited.csv --dry-run',
    'import --update edited.csv',
  ],
  operands: ['FILE'],
  findConflicts({ format, update, overwrite }, [file = '-']) {
    const problems = findFormatProblems(file, format)
    if (overwrite && !update) problems.push('--overwrite is for --update: a new animal overwrites nothing')
    return problems
  },
  async run({ update, overwrite, dryRun, ...settings }, [file = '-'], { stdin, stderr, say }) {
    const source = await openSource(file, stdin)
    const done = update ? 'processed' : 'imported'
    const task = {
      ...settings,
      format: settings.format ?? formatOf(file),
      source,
      progress: createProgress(stderr, dryRun ? 'checked' : done, update ? 'rows' : 'animals'),
      say,
    }
    const { databaseUrl } = settings
    try {
      if (update)
        await withStore(databaseUrl, { say }, store =>
          interruptible(signal => updateAll({ ...task, signal, dryRun, overwrite }, store)),
        )
      else if (dryRun) await interruptible(signal => importAll({ ...task, signal }))
      else {
        // Checked before the database is created. Standard input can be read only once.
        if (settings.fromLine > 1 && file !== '-' && isNewFile(databaseUrl))
          await checkFromLine(await openSource(file, stdin), task)
        await withStore(databaseUrl, { create: true, say }, store =>
          interruptible(signal => importAll({ ...task, signal }, store)),
        )
      }
    } finally {
      source.stream.destroy()
    }
  },
})

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

/** An import that begins beyond the file creates no database. */
async function checkFromLine(
  { stream }: Source,
  { format, fromLine }: Pick<ImportTask, 'format' | 'fromLine'>,
): Promise<void> {
  try {
    for await (const _ of readEntries(stream, NEW_ANIMALS, format, fromLine)) return
  } catch (error) {
    // The import itself reports what else is wrong.
    if (error instanceof BeyondFile) throw new CommandFailed(`${error.message}\nNothing was stored.`)
  } finally {
    stream.destroy()
  }
}

/** Without a store, it only checks the file. If it ends early, the error says what was stored and how to resume. */
export async function importAll(task: ImportTask, store?: Store): Promise<void> {
  const { source, progress, fromLine, say } = task
  const database = nameOf(task.databaseUrl)
  const start = performance.now()
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

  async function storeBatch({ animals, ...lines }: ImportBatch): Promise<void> {
    try {
      await store?.write(animals.map(animal => ({ kind: 'create', animal })))
    } catch (error) {
      if (!isNothingStored(error)) nextIfStored = lines.lastLine + 1
      throw notStored(lines, error)
    }
    stored += animals.length
    next = lines.lastLine + 1
    progress.update(stored, source.share())
  }

  const skipInvalid = task.skipInvalid || store === undefined
  const batches = batchesOf({ ...task, skipInvalid }, lines => (skipped += lines))
  await storeBatches(task, batches, storeBatch, error =>
    store
      ? `${formatCount(stored, 'animal')} stored in ${database}.${howToResume(error)}`
      : 'Nothing was stored.',
  )
  if (store === undefined) return reportCheck(task, stored, skipped)
  if (stored === 0 && skipped > 0)
    throw new CommandFailed(
      `No animal was imported into ${database}: ${formatCount(skipped, 'line')} invalid, and no other.`,
    )
  say(
    `${formatCount(stored, 'animal')} imported into ${database} in ${secondsSince(start)} s${describeSkipped(skipped)}.`,
  )
}

function reportCheck({ databaseUrl, skipInvalid, say }: ImportTask, valid: number, invalid: number): void {
  if (invalid > 0 && !skipInvalid)
    throw new CommandFailed(
      `${formatCount(invalid, 'line')} invalid, ${formatCount(valid, 'animal')} valid. Nothing was stored, and an import would stop at the first invalid line.`,
    )
  if (valid === 0 && invalid > 0)
    throw new CommandFailed(
      `An import would add no animal: ${formatCount(invalid, 'line')} invalid, and no other. Nothing was stored.`,
    )
  say(
    `An import would add ${formatCount(valid, 'animal')} to ${isNewFile(databaseUrl) ? 'the new database ' : ''}${nameOf(databaseUrl)}${describeSkipped(invalid)}. Nothing was stored.`,
  )
}

interface ImportBatch extends LineRange {
  readonly animals: readonly NewAnimal[]
}

/** Yields the valid animals. Throws a CommandFailed for an invalid entry, or reports it and its number of lines. */
async function* batchesOf(task: ImportTask, onSkipped: (lines: number) => void): AsyncGenerator<ImportBatch> {
  function animalOf(entry: Entry): NewAnimal | undefined {
    try {
      return parseEntry(entry)
    } catch (error) {
      if (!(error instanceof InvalidEntry)) throw error
      const message = `${linesOf(entry)}: ${error.message}`
      if (!task.skipInvalid) throw new CommandFailed(message)
      tell(task, message)
      onSkipped(entry.lastLine - entry.firstLine + 1)
      return undefined
    }
  }

  let animals: NewAnimal[] = []
  let firstLine = 0
  let lastLine = 0
  const { source, format, fromLine, signal } = task
  const stream = addAbortSignal(signal, source.stream)
  for await (const entry of readEntries(stream, NEW_ANIMALS, format, fromLine, text => tell(task, text))) {
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

/** Returns the new animal of an entry, or throws an InvalidEntry. */
export function parseEntry(entry: Entry): NewAnimal {
  const row = entry.row()
  rejectProblems(findProblems(row.members), row)
  return toNewAnimal(row.members)
}

function describeSkipped(lines: number): string {
  return lines > 0 ? `, ${formatCount(lines, 'line')} skipped` : ''
}
