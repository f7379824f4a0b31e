// The command line: finds the command, runs it, and exits with 0, 1 (failed) or 2 (misused).

import { readFileSync } from 'node:fs'
import { backupDatabase, restoreDatabase } from './cli/backup.ts'
import { type Command, CommandFailed, type Streams } from './cli/command.ts'
import { exportAnimals } from './cli/export.ts'
import { importAnimals } from './cli/import.ts'
import { createKey, listKeys, revokeKey, rotateKey } from './cli/keys.ts'
import { migrate } from './cli/migrate.ts'
import { openapi } from './cli/openapi.ts'
import { describeSettings, readSettings, SettingsError } from './cli/read-settings.ts'
import { serve } from './cli/serve.ts'
import { closest } from './cli/suggest.ts'
import { ServiceError } from './error.ts'

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
  const command = COMMANDS.find(({ name }) => args.slice(0, name.split(' ').length).join(' ') === name)
  if (has(args, '--version')) {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
    streams.out(version)
    return 0
  }
  if (has(args, '--help', '-h') || args[0] === 'help') {
    streams.out(command === undefined ? overview() : help(command))
    return 0
  }
  if (command === undefined) return misused(args)
  try {
    const rest = args.slice(command.name.split(' ').length)
    const { settings, operands } = readSettings(
      command.settings,
      { args: rest, env: process.env },
      command.operands,
    )
    await command.run(settings, operands, streams)
    return 0
  } catch (error) {
    if (error instanceof SettingsError) {
      for (const problem of error.problems) streams.say(problem)
      return MISUSED
    }
    if (error instanceof CommandFailed) streams.say(error.message)
    else if (error instanceof ServiceError)
      streams.say(`The database cannot be used right now: ${reasonOf(error)}.`)
    else console.error(error)
    return FAILED
  }
}

function reasonOf({ message, cause }: ServiceError): string {
  return cause instanceof Error ? cause.message : message
}

function misused(args: readonly string[]): number {
  const words = args.slice(0, 2).filter(word => !word.startsWith('-'))
  if (words.length === 0) {
    streams.say(overview())
    return MISUSED
  }
  const typed = words.join(' ')
  const group = COMMANDS.filter(({ name }) => name.startsWith(`${words[0]} `))
  if (group.length > 0 && words.length === 1) {
    streams.say(
      `"${typed}" must be followed by one of ${group.map(({ name }) => name.split(' ')[1]).join(', ')}.`,
    )
    return MISUSED
  }
  const suggestion = closest(typed, [...COMMANDS.map(({ name }) => name), 'keys'])
  streams.say(
    `There is no command "${typed}".${suggestion ? ` Did you mean "${suggestion}"?` : ''} See animal-store --help.`,
  )
  return MISUSED
}

function overview(): string {
  const width = Math.max(...COMMANDS.map(command => usage(command).length))
  const lines = COMMANDS.map(command => `  ${usage(command).padEnd(width)}  ${command.summary}`)
  return [
    'Usage: animal-store COMMAND [FLAGS]',
    '',
    ...lines,
    '',
    'See animal-store COMMAND --help for the flags of a command.',
  ].join('\n')
}

function help(command: Command): string {
  return [
    `Usage: animal-store ${usage(command)} [FLAGS]`,
    '',
    command.summary,
    '',
    describeSettings(command.settings),
    '  --help',
    '  --version',
  ].join('\n')
}

function usage({ name, operands = [] }: Command): string {
  return [name, ...operands].join(' ')
}

function has(args: readonly string[], ...flags: readonly string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end === -1 ? undefined : end).some(arg => flags.includes(arg))
}
