// What a command of `animal-store` consists of.

import type { Readable, Writable } from 'node:stream'
import { describeSystemError } from '../system-error.ts'
import type { SettingName, Settings } from './settings.ts'

/** A stream that may be a terminal. */
export interface Output extends Writable {
  readonly isTTY?: boolean
  readonly columns?: number
}

/** The standard streams. */
export interface Streams {
  readonly stdin: Readable
  readonly stdout: Output
  readonly stderr: Output
  /** Prints a message for a person, to stderr. */
  say(text: string): void
}

export interface Command<Name extends SettingName = SettingName> {
  readonly name: string
  readonly summary: string
  readonly settings: readonly Name[]
  /** For the help: describes settings that accept less here than in other commands. */
  readonly descriptions?: Partial<Record<Name, string>>
  /** For the help, in words: defaults that differ in this command. */
  readonly defaults?: Partial<Record<Name, string>>
  /** Complete command lines for the help, without the name of the program. */
  readonly examples?: readonly string[]
  /** The arguments after the flags, by their names in the help. An optional one is in brackets. */
  readonly operands?: readonly string[]
  /** A setting that may be given instead of the operands. */
  readonly insteadOfOperands?: Name
  /** Returns what is wrong with settings that are valid alone, but not together. An invalid one has its default here. */
  readonly findConflicts?: (settings: Settings<Name>, operands: readonly string[]) => readonly string[]
  readonly run: (settings: Settings<Name>, operands: readonly string[], streams: Streams) => Promise<void>
}

/** Infers the type of the settings that `run` receives. */
export function command<Name extends SettingName>(definition: Command<Name>): Command<Name> {
  return definition
}

/** The command failed: the message is one line for a person, and the exit code is 1. */
export class CommandFailed extends Error {
  override name = 'CommandFailed'
}

/** A person has interrupted the command: the message says what was done, and the exit code is 130. */
export class Interrupted extends Error {
  override name = 'Interrupted'
}

/** Says why a file could not be written. */
export function cannotWrite(file: string, error: unknown): CommandFailed {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
  const reason = isMissing ? 'the folder does not exist' : describeSystemError(error)
  return new CommandFailed(`Cannot write ${file}: ${reason}.`, { cause: error })
}

/** Prints a line. Throws a CommandFailed if it cannot be written. */
export function print(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) =>
    stream.write(`${text}\n`, error => {
      if (error) reject(cannotWrite('the output', error))
      else resolve()
    }),
  )
}

/**
 * Runs the work with a signal that is aborted by SIGINT or SIGTERM. Further signals have no effect: a launcher may
 * forward a signal that this process has already received, and the process must clean up and say what was done. So the work
 * includes its last message.
 */
export async function interruptible<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const controller = new AbortController()
  const stop = () => controller.abort()
  process.on('SIGINT', stop).on('SIGTERM', stop)
  try {
    return await work(controller.signal)
  } finally {
    // After a signal the process is about to end, and must not be killed before it has said what was done.
    if (!controller.signal.aborted) process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}
