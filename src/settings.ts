// The only reader of flags and environment variables. Every setting is one entry of one table.

import { parseArgs } from 'node:util'
import { ENVIRONMENTS } from './api-key.ts'
import {
  durationOf,
  FORMATS,
  keyTime,
  matching,
  oneOf,
  Problem,
  parseBaseUrl,
  parseDatabaseUrl,
  parseLineNumber,
  parseOrigins,
  parsePort,
  parseWorkers,
} from './setting-values.ts'

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** How one setting is given and read. `parse` throws a Problem that says what was expected. */
interface Setting<Value> {
  readonly flag?: string
  readonly variable?: string
  /** What stands for the value in the help; a setting without it is a switch. */
  readonly placeholder?: string
  /** The default in words, for the help; the value of a setting that was not given is undefined. */
  readonly standard?: string
  readonly meaning: string
  readonly isSecret?: boolean
  readonly isRequired?: boolean
  /** Its flag may be given several times; the values come with commas between them. */
  readonly isRepeatable?: boolean
  readonly parse: (text: string) => Value
}

/** Everything that is wrong with the settings, a line each. */
export class SettingsError extends Error {
  override name = 'SettingsError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

export const SETTINGS = {
  host: {
    flag: 'host',
    variable: 'HOST',
    placeholder: 'ADDRESS',
    standard: '127.0.0.1',
    meaning: 'address to listen on',
    parse: matching(/^[^\s/]+$/, 'a host name or an IP address'),
  },
  port: {
    flag: 'port',
    variable: 'PORT',
    placeholder: 'PORT',
    standard: '8080',
    meaning: 'port to listen on; 0 picks a free one',
    parse: parsePort,
  },
  databaseUrl: {
    flag: 'database-url',
    variable: 'DATABASE_URL',
    placeholder: 'URL',
    standard: 'sqlite:data/<environment>.db',
    meaning: 'sqlite:<path>, sqlite::memory: or postgres://…',
    // An address may hold a password.
    isSecret: true,
    parse: parseDatabaseUrl,
  },
  environment: {
    flag: 'environment',
    variable: 'ANIMAL_STORE_ENV',
    placeholder: 'NAME',
    standard: 'production',
    meaning: ENVIRONMENTS.join(' or '),
    parse: oneOf(ENVIRONMENTS),
  },
  productionUrl: {
    flag: 'production-url',
    variable: 'PRODUCTION_URL',
    placeholder: 'URL',
    standard: "in production this server's own address + /v1",
    // An address may hold a password.
    isSecret: true,
    meaning: 'base address of production, published in the OpenAPI document',
    parse: parseBaseUrl,
  },
  stagingUrl: {
    flag: 'staging-url',
    variable: 'STAGING_URL',
    placeholder: 'URL',
    standard: "in staging this server's own address + /v1",
    isSecret: true,
    meaning: 'base address of staging, published in the OpenAPI document',
    parse: parseBaseUrl,
  },
  corsOrigins: {
    flag: 'cors-origin',
    variable: 'CORS_ORIGIN',
    placeholder: 'ORIGIN',
    standard: 'none',
    meaning: 'origin of pages that may use the service from a browser, or *; may be repeated',
    isRepeatable: true,
    parse: parseOrigins,
  },
  logLevel: {
    flag: 'log-level',
    variable: 'LOG_LEVEL',
    placeholder: 'LEVEL',
    standard: 'info',
    meaning: LOG_LEVELS.join(', '),
    parse: oneOf(LOG_LEVELS),
  },
  shutdownDelay: {
    flag: 'shutdown-delay',
    variable: 'SHUTDOWN_DELAY',
    placeholder: 'TIME',
    standard: '1s',
    meaning: 'how long to go on serving, unready, before the listener closes; 0s to 5s',
    parse: durationOf({ least: 0, most: 5_000, words: 'a time from 0s to 5s' }),
  },
  workers: {
    flag: 'workers',
    variable: 'WORKERS',
    placeholder: 'NUMBER',
    standard: '1',
    meaning: 'how many processes serve the port; auto is one for each core',
    parse: parseWorkers,
  },
  stopWithParent: {
    flag: 'stop-with-parent',
    variable: 'npm_lifecycle_event',
    standard: 'off, but on below npm and npx, which set the variable',
    meaning: 'stop when the process that started this one ends',
    parse: () => true,
  },
  apiKey: {
    variable: 'ANIMAL_STORE_API_KEY',
    standard: 'none',
    meaning: 'one extra key that is accepted beside the stored ones; 20 to 255 visible ASCII characters',
    isSecret: true,
    parse: matching(/^[!-~]{20,255}$/, '20 to 255 visible ASCII characters'),
  },
  name: {
    flag: 'name',
    placeholder: 'NAME',
    meaning: 'what the key is for, in at most 100 characters',
    isRequired: true,
    parse: matching(
      /^(?=.*\S)[^\p{Cc}]{1,100}$/u,
      '1 to 100 characters, not blank, without control characters',
    ),
  },
  expires: {
    flag: 'expires',
    placeholder: 'TIME',
    standard: 'never',
    meaning: 'how long the key is valid, such as 90d',
    parse: keyTime(),
  },
  overlap: {
    flag: 'overlap',
    placeholder: 'TIME',
    standard: '24h',
    meaning: 'how long the old key goes on working, such as 0s or 24h',
    parse: keyTime(0),
  },
  format: {
    flag: 'format',
    placeholder: 'NAME',
    standard: 'csv for a FILE that ends in .csv, else jsonl',
    meaning: FORMATS.join(' or '),
    parse: oneOf(FORMATS),
  },
  skipInvalid: {
    flag: 'skip-invalid',
    meaning: 'report lines that are no animals, and import the others',
    parse: () => true,
  },
  fromLine: {
    flag: 'from-line',
    placeholder: 'NUMBER',
    standard: '1',
    meaning: 'the line to begin with, to go on with an import that was interrupted',
    parse: parseLineNumber,
  },
  json: { flag: 'json', meaning: 'answer in JSON', parse: () => true },
} as const satisfies Record<string, Setting<unknown>>

export type SettingName = keyof typeof SETTINGS
export type Settings<Name extends SettingName> = {
  readonly [Each in Name]: ReturnType<(typeof SETTINGS)[Each]['parse']> | undefined
}

export interface Given {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Reads the named settings; a flag wins over its variable, and an empty variable counts as not given. Throws one
 * SettingsError for everything that is wrong. `operands` names what must follow the flags, in brackets what may.
 */
export function readSettings<Name extends SettingName>(
  names: readonly Name[],
  { args, env }: Given,
  operands: readonly string[] = [],
): { settings: Settings<Name>; operands: string[] } {
  const problems: string[] = []
  const flags = readFlags(names, args, operands, problems)
  const values: Record<string, unknown> = {}
  for (const name of names) {
    const setting: Setting<unknown> = SETTINGS[name]
    const text =
      (setting.flag && flags.values.get(setting.flag)) ??
      ((setting.variable && env[setting.variable]) || undefined)
    values[name] = undefined
    if (text === undefined) {
      if (setting.isRequired) problems.push(`${nameOf(setting)} is required: ${setting.meaning}`)
      continue
    }
    try {
      values[name] = setting.parse(text)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const shown = setting.isSecret ? '' : `, not ${JSON.stringify(text)}`
      problems.push(`${nameOf(setting)} must be ${error.message}${shown}`)
    }
  }
  if (problems.length > 0) throw new SettingsError(problems)
  return { settings: values as Settings<Name>, operands: flags.operands }
}

/** The settings as lines of help. */
export function describeSettings(names: readonly SettingName[]): string {
  const rows = names.map((name): [string, string] => {
    const { flag, placeholder, variable, standard, meaning }: Setting<unknown> = SETTINGS[name]
    const written = flag === undefined ? `(${variable})` : `--${flag}${placeholder ? ` ${placeholder}` : ''}`
    const notes = [flag && variable, standard && `default ${standard}`].filter(Boolean).join(', ')
    return [written, notes ? `${meaning} (${notes})` : meaning]
  })
  const width = Math.max(...rows.map(([written]) => written.length))
  return rows.map(([written, meaning]) => `  ${written.padEnd(width)}  ${meaning}`).join('\n')
}

function readFlags(
  names: readonly SettingName[],
  args: readonly string[],
  operands: readonly string[],
  problems: string[],
) {
  const known = new Map<string, Setting<unknown>>()
  for (const name of names) {
    const setting: Setting<unknown> = SETTINGS[name]
    if (setting.flag !== undefined) known.set(setting.flag, setting)
  }
  const options = Object.fromEntries(
    [...known].map(([flag, { placeholder }]) => [
      flag,
      { type: placeholder ? ('string' as const) : ('boolean' as const) },
    ]),
  )
  const { tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    tokens: true,
    allowPositionals: true,
  })
  const values = new Map<string, string>()
  const found: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') found.push(token.value)
    if (token.kind !== 'option') continue
    const setting = known.get(token.name)
    if (setting === undefined) problems.push(`${token.rawName} is not a flag of this command; see --help`)
    else if (values.has(token.name) && !setting.isRepeatable) problems.push(`${token.rawName} is given twice`)
    else if (setting.placeholder && token.value === undefined) problems.push(`${token.rawName} needs a value`)
    else if (!setting.placeholder && token.value !== undefined)
      problems.push(`${token.rawName} takes no value`)
    else values.set(token.name, [values.get(token.name) ?? [], token.value ?? ''].flat().join())
  }
  for (const missing of operands.slice(found.length))
    if (!missing.startsWith('[')) problems.push(`${missing} is missing`)
  for (const extra of found.slice(operands.length))
    problems.push(`${JSON.stringify(extra)} is one argument too many`)
  return { values, operands: found }
}

function nameOf({ flag, variable }: Setting<unknown>): string {
  if (flag === undefined) return String(variable)
  return variable === undefined ? `--${flag}` : `--${flag} (${variable})`
}
