// Reads the animals of an import in batches, in constant memory.

import type { Readable } from 'node:stream'
import type { NewAnimal } from '../animal.ts'
import { ServiceError } from '../error.ts'
import type { Creation } from '../store.ts'
import { FORMATS, formatOfSource } from './formats.ts'
import type { Entry, Reader } from './import-entry.ts'
import { Lines } from './import-lines.ts'
import type { FormatName } from './setting-values.ts'

const BATCH_SIZE = 1_000

export interface Source {
  readonly name: string
  readonly stream: Readable
  /** Its size, if known. */
  readonly bytes: number | undefined
}

export interface BatchOptions {
  readonly source: Source
  /** Without it, the name and the content of the source decide. */
  readonly format: FormatName | undefined
  /** Report an invalid line and continue, instead of throwing an InvalidLine. */
  readonly skipInvalid: boolean
  readonly fromLine: number
}

export interface Batch {
  readonly creations: Creation[]
  lastLine: number
  /** How much of the source was read when the batch was complete. */
  readBytes: number
}

/** A line that is not a valid animal. */
export class InvalidLine extends Error {}

/**
 * Yields the animals of the source in batches. If reading fails or a line is invalid, it first yields the batches that
 * are complete.
 */
export async function* batchesOf(
  { source, format, fromLine, skipInvalid }: BatchOptions,
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
