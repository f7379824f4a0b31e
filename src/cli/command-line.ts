// Finds the command on the command line, runs it, and returns the exit code.

import { ServiceError } from '../error.ts'
import { UnusableDatabase } from '../store.ts'
import { describeSystemError } from '../system-error.ts'
import { type Command, CommandFailed, Interrupted, print, type Streams } from './command.ts'
import { backupDatabase, restoreDatabase } from './commands/backup-and-restore.ts'
import { copyDatabase } from './commands/copy.ts'
import { exportAnimals } from './commands/export.ts'
import { importAnimals } from './commands/import.ts'
import { createKey, listKeys, revokeKey, rotateKey } from './commands/keys.ts'
import { migrateDatabase } from './commands/migrate-database.ts'
import { printOpenapi } from './commands/print-openapi.ts'
import { closest, help, overview } from './help.ts'
import { reasonOf, redact } from './messages.ts'
import { readSettings, SettingsError, type Variables } from './read-settings.ts'
import { serve } from './service/serve.ts'
import { readVersion } from './version.ts'

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
  copyDatabase,
  migrateDatabase,
  printOpenapi,
] as readonly Command[]

const DONE = 0
const FAILED = 1
const MISUSED = 2
const INTERRUPTED = 130

/** Runs a command line. Returns the exit code. */
export async function main(
  args: readonly string[],
  env: Variables,
  { stdin, stdout, stderr }: Omit<Streams, 'say'>,
): Promise<number> {
  const streams = { stdin, stdout, stderr, say: (text: string) => void stderr.write(`${text}\n`) }
  try {
    return await run(args, env, streams)
  } catch (error) {
    for (const line of describeFailure(error)) streams.say(line)
    if (error instanceof SettingsError) return MISUSED
    return error instanceof Interrupted ? INTERRUPTED : FAILED
  }
}

async function run(args: readonly string[], env: Variables, streams: Streams): Promise<number> {
  if (args[0] === 'version' || hasFlag(args, '--version', '-v', '-V')) {
    await print(streams.stdout, readVersion())
    return DONE
  }
  if (args[0] === 'help') return printHelp(args.slice(1), streams)
  if (hasFlag(args, '--help', '-h')) return printHelp(args, streams)
  const command = findCommand(args)
  if (command === undefined) return misused(args, streams)
  const { settings, operands } = readSettings(command, {
    args: args.slice(command.name.split(' ').length),
    env,
  })
  await command.run(settings, operands, streams)
  return DONE
}

/** Returns what to tell a person: in words, if that person can do something about it. */
function describeFailure(error: unknown): readonly string[] {
  if (error instanceof SettingsError) return error.problems
  if (error instanceof CommandFailed || error instanceof Interrupted || error instanceof UnusableDatabase)
    return [error.message]
  if (error instanceof ServiceError) return [`The database cannot be used right now: ${reasonOf(error)}.`]
  if (error instanceof Error && 'syscall' in error)
    return [`Cannot access ${'path' in error ? error.path : 'a file'}: ${describeSystemError(error)}.`]
  return [error instanceof Error ? String(error.stack) : String(error)]
}

function findCommand(args: readonly string[]): Command | undefined {
  return COMMANDS.find(({ name }) => args.slice(0, name.split(' ').length).join(' ') === name)
}

/** The commands that start with this word, such as `keys`. Without a word, all commands. */
function groupOf(word: string): readonly Command[] {
  return word === '' ? COMMANDS : COMMANDS.filter(({ name }) => name.startsWith(`${word} `))
}

/** Prints the help of a command or a group, or of all commands. */
async function printHelp(args: readonly string[], streams: Streams): Promise<number> {
  const words = args.filter(word => !word.startsWith('-'))
  const [first = ''] = words
  const command = findCommand(words)
  const group = groupOf(first)
  if (command === undefined && group.length === 0) return misused(words, streams)
  await print(streams.stdout, command ? help(command) : overview(group, first))
  return DONE
}

function misused(args: readonly string[], { say }: Streams): number {
  const words = args.slice(0, 2).filter(word => !word.startsWith('-'))
  const [first = ''] = words
  const typed = words.map(redact).join(' ')
  const names = [...COMMANDS.map(({ name }) => name), 'keys', 'help', 'version']
  // The second word may be an operand.
  const suggestion = closest(typed, names) ?? closest(first, names)
  const hint = suggestion ? ` Did you mean "${suggestion}"?` : ''
  if (args[0]?.startsWith('-'))
    say(
      `The command is missing before ${redact(args[0])}, as in animal-store serve. See animal-store --help.`,
    )
  else if (first === '' || typed === suggestion) say(overview(groupOf(first), first))
  else if (suggestion === first) say(`There is no command "${typed}".\n\n${overview(groupOf(first), first)}`)
  else say(`There is no command "${typed}".${hint} See animal-store --help.`)
  return MISUSED
}

function hasFlag(args: readonly string[], ...flags: readonly string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end === -1 ? undefined : end).some(arg => flags.includes(arg))
}
