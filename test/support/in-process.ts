// Runs a command in this process. The start of a process takes most of the time of a command, so tests use this where
// the process itself does not matter. Arguments, output and exit codes are those of src/main.ts.

import { type Command, CommandFailed } from '../../src/cli/command.ts'
import { exportAnimals } from '../../src/cli/export.ts'
import { importAnimals } from '../../src/cli/import.ts'
import { createKey, listKeys, revokeKey, rotateKey } from '../../src/cli/keys.ts'
import { migrate } from '../../src/cli/migrate.ts'
import { readSettings, SettingsError } from '../../src/cli/read-settings.ts'
import { UnusableDatabase } from '../../src/store.ts'

const COMMANDS = [
  createKey,
  listKeys,
  revokeKey,
  rotateKey,
  importAnimals,
  exportAnimals,
  migrate,
] as readonly Command[]

export interface Result {
  readonly code: number
  readonly out: string
  readonly err: string
}

export async function runInProcess(args: readonly string[], env: Record<string, string>): Promise<Result> {
  const command = COMMANDS.find(({ name }) => args.slice(0, name.split(' ').length).join(' ') === name)
  if (command === undefined) throw new Error(`${args.join(' ')} cannot run in this process`)
  const rest = args.slice(command.name.split(' ').length)
  const printed = { out: '', err: '' }
  const streams = {
    out: (text: string) => {
      printed.out += `${text}\n`
    },
    say: (text: string) => {
      printed.err += `${text}\n`
    },
  }
  let code = 0
  try {
    const { settings, operands } = readSettings(
      command.settings,
      { args: rest, env },
      command.operands,
      command.findConflicts,
    )
    await command.run(settings, operands, streams)
  } catch (error) {
    if (error instanceof SettingsError) code = 2
    else if (error instanceof CommandFailed || error instanceof UnusableDatabase) code = 1
    else throw error
    streams.say(error.message)
  }
  return { code, ...printed }
}
