// What `import` and `import --update` share: the file, its batches, and what is said if they end early.

import type { Readable } from 'node:stream'
import type { DatabaseAddress } from '../../database/open.ts'
import { ServiceError } from '../../error.ts'
import { describeSystemError } from '../../system-error.ts'
import { CommandFailed, Interrupted, type Streams } from '../command.ts'
import type { FormatName } from '../formats.ts'
import { reasonOf } from '../messages.ts'
import type { Progress } from '../progress.ts'
import { SettingsError } from '../read-settings.ts'
import { InvalidFile } from './import-file.ts'

export const BATCH_SIZE = 1_000

export interface Source {
  readonly name: string
  readonly stream: Readable
  /** Returns the part that was read, from 0 to 1, if known. */
  readonly share: () => number | undefined
}

export interface ImportTask {
  readonly source: Source
  readonly format: FormatName | undefined
  /** The line to start at. */
  readonly fromLine: number
  readonly skipInvalid: boolean
  readonly databaseUrl: DatabaseAddress
  readonly progress: Progress
  /** Stops the import after the batch that is being stored. */
  readonly signal: AbortSignal
  readonly say: Streams['say']
}

/** Lines of the file, from the first to the last. */
export interface LineRange {
  readonly firstLine: number
  readonly lastLine: number
}

/**
 * Reads a batch while the one before is being stored. If that ends early, the error says why, and then what `describeOutcome`
 * returns.
 */
export async function storeBatches<Batch>(
  { source, progress, signal }: ImportTask,
  batches: AsyncIterable<Batch>,
  storeBatch: (batch: Batch) => Promise<void>,
  describeOutcome: (error: unknown) => string,
): Promise<void> {
  let storing: Promise<void> = Promise.resolve()
  try {
    for await (const batch of batches) {
      await storing
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
    if (error instanceof SettingsError) throw error
    const outcome = describeOutcome(error)
    if (signal.aborted) throw new Interrupted(`${reason} ${outcome}`)
    throw new CommandFailed(`${describeFailure(error, source)}\n${outcome}`, { cause: error })
  } finally {
    progress.end()
  }
}

/** Says that a batch could not be stored, and whether nobody knows. */
export function notStored(lines: LineRange, error: unknown): CommandFailed {
  const were = lines.firstLine === lines.lastLine ? 'was' : 'were'
  const outcome = isNothingStored(error) ? `${were} not stored` : 'may be stored'
  return new CommandFailed(`${linesOf(lines)} ${outcome}: ${reasonOf(error)}.`, { cause: error })
}

export function isNothingStored(error: unknown): boolean {
  return error instanceof ServiceError && error.isNothingStored === true
}

export function linesOf({ firstLine, lastLine }: LineRange): string {
  return firstLine === lastLine ? `Line ${firstLine}` : `Lines ${firstLine} to ${lastLine}`
}

/** Prints a message. The progress bar would stay in front of it. */
export function tell({ progress, say }: Pick<ImportTask, 'progress' | 'say'>, message: string): void {
  progress.end()
  say(message)
}

export function cannotRead(file: string, error: unknown): CommandFailed {
  return new CommandFailed(`Cannot read ${file}: ${describeSystemError(error)}.`, { cause: error })
}

function describeFailure(error: unknown, { name }: Source): string {
  if (error instanceof CommandFailed || error instanceof InvalidFile) return error.message
  const isReading = (error as NodeJS.ErrnoException).syscall === 'read'
  return isReading ? cannotRead(name, error).message : `Failed: ${reasonOf(error)}.`
}
