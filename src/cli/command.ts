// What a command of `animal-store` consists of.

import type { SettingName, Settings } from './settings.ts'

export interface Streams {
  /** Prints data, to stdout. */
  readonly out: (text: string) => void
  /** Prints a message for a person, to stderr. */
  readonly say: (text: string) => void
}

export interface Command<Name extends SettingName = SettingName> {
  readonly name: string
  readonly summary: string
  readonly settings: readonly Name[]
  /** Complete command lines for the help, without the name of the program. */
  readonly examples?: readonly string[]
  /** The arguments after the flags, by their names in the help. An optional one is in brackets. */
  readonly operands?: readonly string[]
  /** Returns what is wrong with settings that are valid alone, but not together. An invalid one has its default here. */
  readonly findConflicts?: (settings: Settings<Name>) => readonly string[]
  readonly run: (settings: Settings<Name>, operands: readonly string[], streams: Streams) => Promise<void>
}

/** The command failed: the message is one line for a person, and the exit code is 1. */
export class CommandFailed extends Error {
  override name = 'CommandFailed'
}

/** Infers the type of the settings that `run` receives. */
export function command<Name extends SettingName>(definition: Command<Name>): Command<Name> {
  return definition
}
