// Reads settings from flags and environment variables.

import { readFileSync } from 'node:fs'
import { parseArgs, parseEnv } from 'node:util'
import type { Environment } from '../api-key.ts'
import { defaultDatabase, MalformedUrl } from '../database/open.ts'
import { describeSystemError } from '../system-error.ts'
import type { Command } from './command.ts'
import { closest } from './help.ts'
import { hasCredentials, redact } from './messages.ts'
import { InvalidSetting } from './setting-values.ts'
import { COMMON_SETTINGS, SETTINGS, type Setting, type SettingName, type Settings } from './settings.ts'

/** Everything that is wrong with the settings, one line each. */
export class SettingsError extends Error {
  override name = 'SettingsError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

export type Variables = Record<string, string | undefined>

interface Input {
  readonly args: readonly string[]
  readonly env: Variables
}

/**
 * Reads the settings and operands of a command. A flag wins over its variable, and an empty variable counts as not
 * given. Adds the variables of --env-file to `env`. Throws one SettingsError with all problems.
 */
export function readSettings<Name extends SettingName>(
  {
    settings: own,
    operands = [],
    insteadOfOperands,
    findConflicts = () => [],
  }: Pick<Command<Name>, 'settings' | 'operands' | 'insteadOfOperands' | 'findConflicts'>,
  { args, env }: Input,
): { settings: Settings<Name>; operands: string[] } {
  const names = [...own, ...COMMON_SETTINGS]
  const problems: string[] = []
  const instead = insteadOfOperands && SETTINGS[insteadOfOperands].flag
  const flags = readFlags(names, args, operands, instead, problems)
  const envFile = flags.values.get('env-file')
  if (envFile !== undefined) addVariables(env, envFile, problems)
  const values: Record<string, unknown> = {}
  for (const name of names) {
    const setting: Setting<unknown> = SETTINGS[name]
    const text =
      (setting.flag && flags.values.get(setting.flag)) ??
      ((setting.variable && env[setting.variable]) || undefined)
    values[name] = setting.default
    if (text === undefined) {
      // A flag that is mistyped or has no value is reported once.
      const isReported = setting.flag !== undefined && flags.reported.has(setting.flag)
      if (setting.isRequired && !isReported)
        problems.push(`${settingName(setting)} is required: ${setting.description}`)
      continue
    }
    try {
      values[name] = setting.parse(text)
    } catch (error) {
      if (!(error instanceof InvalidSetting || error instanceof MalformedUrl)) throw error
      const given = setting.isSecret ? '' : `, not ${JSON.stringify(redact(text))}`
      problems.push(`${settingName(setting)} must be ${error.message}${given}`)
    }
  }
  if (values.databaseUrl === SETTINGS.databaseUrl.default)
    values.databaseUrl = defaultDatabase(values.environment as Environment)
  const settings = values as Settings<Name>
  problems.push(...findConflicts(settings, flags.operands))
  if (problems.length > 0) throw new SettingsError(problems)
  return { settings, operands: flags.operands }
}

/**
 * Node.js itself checks that the file exists, even if the flag follows the name of the script, and parses it in the same way.
 * PostgreSQL's variables, such as PGPASSWORD, are read later, so all are added.
 */
function addVariables(env: Variables, file: string, problems: string[]): void {
  try {
    const variables = Object.entries(parseEnv(readFileSync(file, 'utf8')))
    if (!variables.some(([name]) => /^\w+$/.test(name)))
      problems.push(`--env-file ${redact(file)} has no line such as PORT=8080, in UTF-8`)
    for (const [name, value] of variables) env[name] ??= value
  } catch (error) {
    problems.push(`--env-file ${redact(file)} cannot be read: ${describeSystemError(error)}`)
  }
}

function readFlags(
  names: readonly SettingName[],
  args: readonly string[],
  operands: readonly string[],
  insteadOfOperands: string | undefined,
  problems: string[],
) {
  const known = new Map<string, Setting<unknown>>()
  const options: Record<string, { type: 'string' | 'boolean' }> = {}
  for (const name of names) {
    const setting: Setting<unknown> = SETTINGS[name]
    if (setting.flag === undefined) continue
    known.set(setting.flag, setting)
    options[setting.flag] = { type: setting.placeholder ? 'string' : 'boolean' }
  }
  // Not strict: the mistakes are reported below, all together.
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true })
  const values = new Map<string, string>()
  const reported = new Set<string>()
  const found: string[] = []
  let hasUnknown = false
  for (const token of tokens) {
    if (token.kind === 'positional') found.push(token.value)
    if (token.kind !== 'option') continue
    const setting = known.get(token.name)
    if (setting === undefined) {
      hasUnknown = true
      const meant = closest(token.name, [...known.keys()])
      if (meant !== undefined) reported.add(meant)
      const hint = meant === undefined ? 'see --help' : `did you mean --${meant}?`
      problems.push(`${token.rawName} is not a flag of this command; ${hint}`)
    } else if (values.has(token.name) && !setting.isRepeatable)
      problems.push(`${token.rawName} is given twice`)
    else if (setting.placeholder && (token.value === undefined || isFlag(token))) {
      reported.add(token.name)
      problems.push(`${token.rawName} needs a value`)
    } else if (!setting.placeholder && token.value !== undefined)
      problems.push(`${token.rawName} takes no value`)
    else {
      const earlier = values.get(token.name)
      values.set(token.name, (earlier === undefined ? '' : `${earlier},`) + (token.value ?? ''))
    }
  }
  const isReplaced =
    insteadOfOperands !== undefined && (values.has(insteadOfOperands) || reported.has(insteadOfOperands))
  for (const missing of isReplaced ? [] : operands.slice(found.length))
    if (!missing.startsWith('[')) problems.push(`${missing} is missing; see --help`)
  for (const [index, operand] of found.entries()) {
    const shown = JSON.stringify(redact(operand))
    if (operand === '') problems.push(`${operands[index] ?? 'an argument'} is empty`)
    // No operand is a URL. A command would print it as the name of a file, together with the password.
    else if (hasCredentials(operand)) problems.push(`${shown} needs --database-url before it`)
    // After an unknown flag, an argument may be its value.
    else if (index >= operands.length && !hasUnknown) {
      // `npm start --port 9001` passes only 9001 to `serve`.
      const hint = names.includes('port') ? '; with npm start, write -- before the flags' : ''
      problems.push(`${shown} is an unexpected argument${hint}`)
    }
  }
  return { values, reported, operands: found }
}

/** `--name --json` has no name, but two flags. `--name=--json` has one. */
function isFlag({ value, inlineValue }: { value?: string; inlineValue?: boolean }): boolean {
  return inlineValue === false && value?.startsWith('--') === true
}

function settingName({ flag, variable }: Setting<unknown>): string {
  if (flag === undefined) return String(variable)
  return variable === undefined ? `--${flag}` : `--${flag} (${variable})`
}
