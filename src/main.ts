// The command line: finds the command, runs it, and exits with 0, 1 (failed) or 2 (misused).

import { readFileSync } from 'node:fs'
import { backupDatabase, restoreDatabase } from './cli/backup.ts'
import { type Command, CommandFailed, type Streams } from './cli/command.ts'
import { exportAnimals } from './cli/export.ts'
import { help, overview } from './cli/help.ts'
import { importAnimals } from './cli/import.ts'
import { createKey, listKeys, revokeKey, rotateKey } from './cli/keys.ts'
import { migrate } from './cli/migrate.ts'
import { openapi } from './cli/openapi.ts'
import { readSettings, SettingsError } from './cli/read-settings.ts'
import { redact } from './cli/redact.ts'
import { serve } from './cli/serve.ts'
import { closest } from './cli/suggest.ts'
import { reasonOf } from './cli/system-error.ts'
import { ServiceError } from './error.ts'
import { UnusableDatabase } from './store.ts'

const COMMANDS = [
  serve,
  createKey,
  listKeys,
  revokeKey,
  rotateKey,
  importAnimals,
  exportAnimals,
  backupDatabase,
  restoreDatabase,
  migrate,
  openapi,
] as readonly Command[]

/** The width of the help where it is not printed to a terminal, and its largest width. */
const DEFAULT_COLUMNS = 100
const MAX_COLUMNS = 120

const FAILED = 1
const MISUSED = 2

const streams: Streams = {
  out: text => void process.stdout.write(`${text}\n`),
  say: text => void process.stderr.write(`${text}\n`),
}

// Messages are lost if stderr cannot be written. That must not end the process.
process.stderr.on('error', () => {})

process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  const command = findCommand(args)
  if (hasFlag(args, '--version')) {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
    streams.out(version)
    return 0
  }
  const wordsAfterHelp = args[0] === 'help' ? args.slice(1) : args
  if (hasFlag(args, '--help', '-h') || args[0] === 'help') return printHelp(wordsAfterHelp)
  if (command === undefined) return misused(args)
  try {
    const rest = args.slice(command.name.split(' ').length)
    const { settings, operands } = readSettings(
      command.settings,
      { args: rest, env: process.env },
      command.operands,
      command.findConflicts,
    )
    await command.run(settings, operands, streams)
    return 0
  } catch (error) {
    if (error instanceof SettingsError) {
      for (const problem of error.problems) streams.say(problem)
      return MISUSED
    }
    if (error instanceof CommandFailed || error instanceof UnusableDatabase) streams.say(error.message)
    else if (error instanceof ServiceError)
      streams.say(`The database cannot be used right now: ${reasonOf(error)}.`)
    else console.error(error)
    return FAILED
  }
}

function findCommand(args: readonly string[]): Command | undefined {
  return COMMANDS.find(({ name }) => args.slice(0, name.split(' ').length).join(' ') === name)
}

/** The commands that start with this word, such as `keys`. */
function groupOf(word: string): Command[] {
  return COMMANDS.filter(({ name }) => name.startsWith(`${word} `))
}

/** Prints the help of a command or a group, or of all commands. */
function printHelp(args: readonly string[]): number {
  const columns = Math.min(process.stdout.columns ?? DEFAULT_COLUMNS, MAX_COLUMNS)
  const words = args.filter(word => !word.startsWith('-'))
  const [first = ''] = words
  const command = findCommand(words)
  const group = groupOf(first)
  if (command !== undefined) streams.out(help(command, columns))
  else if (first === '') streams.out(overview(COMMANDS, columns))
  else if (group.length > 0) streams.out(overview(group, columns, first))
  else return misused(words)
  return 0
}

function misused(args: readonly string[]): number {
  const words = args.slice(0, 2).filter(word => !word.startsWith('-'))
  const [first = ''] = words
  if (first === '') {
    streams.say(overview(COMMANDS, Math.min(process.stderr.columns ?? DEFAULT_COLUMNS, MAX_COLUMNS)))
    return MISUSED
  }
  const typed = words.map(redact).join(' ')
  const names = [...COMMANDS.map(({ name }) => name), 'keys', 'help']
  const group = groupOf(first)
  if (group.length > 0 && (words.length === 1 || closest(typed, names) === undefined)) {
    streams.say(
      `"${first}" must be followed by one of ${group.map(({ name }) => name.split(' ')[1]).join(', ')}.`,
    )
    return MISUSED
  }
  // The second word may be an operand.
  const suggestion = closest(typed, names) ?? closest(first, names)
  streams.say(
    `There is no command "${typed}".${suggestion ? ` Did you mean "${suggestion}"?` : ''} See animal-store --help.`,
  )
  return MISUSED
}

function hasFlag(args: readonly string[], ...flags: readonly string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end === -1 ? undefined : end).some(arg => flags.includes(arg))
}
