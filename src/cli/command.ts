// What a command of `animal-store` is: what it takes, what it says of itself, and what it does.

import type { SettingName, Settings } from '../settings.ts'

export interface Streams {
  /** Data. */
  readonly out: (text: string) => void
  /** Words. */
  readonly say: (text: string) => void
}

export interface Command<Name extends SettingName = SettingName> {
  readonly name: string
  readonly summary: string
  readonly settings: readonly Name[]
  /** What follows the flags, by the names the help gives it; what may be left out is in brackets. */
  readonly operands?: readonly string[]
  readonly run: (settings: Settings<Name>, operands: readonly string[], streams: Streams) => Promise<void>
}

/** The command could not do what it was asked to: one line for a person, exit code 1. */
export class CommandFailed extends Error {
  override name = 'CommandFailed'
}

/** Lets TypeScript see which settings a command is given. */
export function command<Name extends SettingName>(definition: Command<Name>): Command<Name> {
  return definition
}
