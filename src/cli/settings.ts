// Every setting of every command: its flag, its environment variable, its default and its description. The help and the docs take
// their text from here.

import { ENVIRONMENTS } from '../api-key.ts'
import { formatDuration, UNIT_MS } from '../clock.ts'
import { DEFAULT_CONNECTIONS, defaultDatabase, parseDatabaseUrl } from '../database/open.ts'
import { FORMAT_NAMES } from './formats.ts'
import {
  durationBetween,
  EXTRA_KEY_RULE,
  LOG_LEVELS,
  MAX_KEY_NAME_LENGTH,
  oneOf,
  parseBaseUrl,
  parseExtraKey,
  parseFolder,
  parseHost,
  parseKeyName,
  parseOrigins,
  parsePort,
  parseRateLimit,
  parseWorkers,
  wholeNumber,
} from './setting-values.ts'

export interface Setting<Value> {
  /** Without the hyphens. */
  readonly flag?: string | undefined
  readonly variable?: string | undefined
  /** Stands for the value in the help. A setting without it is a switch. */
  readonly placeholder?: string | undefined
  readonly description: string
  /** The value of a setting that is not given. */
  readonly default: Value
  /** The default in words, if it is not simply the text of `default`. */
  readonly defaultText?: string | undefined
  /** Never shown in an error message. */
  readonly isSecret?: boolean
  readonly isRequired?: boolean
  /** The flag may be given several times. `parse` gets the values joined with commas. */
  readonly isRepeatable?: boolean
  /** Throws an InvalidSetting that says what was expected. */
  readonly parse: (text: string) => Value
}

/** Without a default, the setting is undefined if it is not given. */
function setting<Value, const Default extends Value | undefined = undefined>(
  definition: Omit<Setting<Value>, 'default'> & { readonly default?: Default },
): Setting<Value | Default> {
  return { ...definition, default: definition.default as Default }
}

/** A switch is given without a value. */
function switchNamed(flag: string, description: string): Setting<boolean> {
  return { flag, description, parse: () => true, default: false }
}

function duration(definition: Setting<number>): Setting<number> {
  return { ...definition, defaultText: formatDuration(definition.default) }
}

const MAX_SHUTDOWN_DELAY_MS = 5_000
const KEY_LIFETIME_EXAMPLE = ', such as 90d or 24h'
const MAX_KEY_LIFETIME_MS = 3650 * UNIT_MS.d

/** The settings of `serve`. */
const SERVICE_SETTINGS = {
  host: setting({
    flag: 'host',
    variable: 'HOST',
    placeholder: 'ADDRESS',
    description: 'address to listen on',
    parse: parseHost,
    default: '127.0.0.1',
  }),
  port: setting({
    flag: 'port',
    variable: 'PORT',
    placeholder: 'PORT',
    description: 'port to listen on; 0 picks a free one',
    parse: parsePort,
    default: 8080,
  }),
  databaseUrl: setting({
    flag: 'database-url',
    variable: 'DATABASE_URL',
    placeholder: 'URL',
    description:
      'sqlite:<path> or postgres://…; use the variable for a URL with a password, because every user of the machine can see flags',
    parse: parseDatabaseUrl,
    // readSettings replaces it by the file of the environment.
    default: defaultDatabase('production'),
    defaultText: `sqlite:${defaultDatabase('<environment>').path}`,
    isSecret: true,
  }),
  databaseConnections: setting({
    flag: 'database-connections',
    variable: 'DATABASE_CONNECTIONS',
    placeholder: 'NUMBER',
    description: 'PostgreSQL connections per process',
    parse: wholeNumber(1, 999),
    default: DEFAULT_CONNECTIONS,
  }),
  databaseWait: duration({
    flag: 'database-wait',
    variable: 'DATABASE_WAIT',
    placeholder: 'TIME',
    description: 'PostgreSQL: how long to wait at start for a server that is unreachable or read-only',
    parse: durationBetween(0, UNIT_MS.h),
    default: 10_000,
  }),
  environment: setting({
    flag: 'environment',
    variable: 'ANIMAL_STORE_ENV',
    placeholder: 'NAME',
    description: ENVIRONMENTS.join(' or '),
    parse: oneOf(ENVIRONMENTS),
    default: 'production',
  }),
  productionUrl: setting({
    flag: 'production-url',
    variable: 'PRODUCTION_URL',
    placeholder: 'URL',
    description: 'public base URL of production, for links and the OpenAPI document',
    parse: parseBaseUrl,
    defaultText: "in production: the server's own address + /v1",
    isSecret: true,
  }),
  stagingUrl: setting({
    flag: 'staging-url',
    variable: 'STAGING_URL',
    placeholder: 'URL',
    description: 'public base URL of staging, for links and the OpenAPI document',
    parse: parseBaseUrl,
    defaultText: "in staging: the server's own address + /v1",
    isSecret: true,
  }),
  corsOrigins: setting({
    flag: 'cors-origin',
    variable: 'CORS_ORIGIN',
    placeholder: 'ORIGIN',
    description: 'origin whose pages may use the API from a browser, or *; may be repeated',
    parse: parseOrigins,
    default: [],
    defaultText: 'none',
    isRepeatable: true,
  }),
  rateLimit: setting({
    flag: 'rate-limit',
    variable: 'RATE_LIMIT',
    placeholder: 'NUMBER/TIME',
    description: 'how many requests each API key may send, such as 600/60s',
    parse: parseRateLimit,
    defaultText: 'off',
  }),
  backupFolder: setting({
    flag: 'backup-folder',
    variable: 'BACKUP_FOLDER',
    placeholder: 'FOLDER',
    description: 'SQLite: a folder for a verified backup every day',
    parse: parseFolder,
    defaultText: 'none',
  }),
  backupKeep: setting({
    flag: 'backup-keep',
    variable: 'BACKUP_KEEP',
    placeholder: 'NUMBER',
    description: 'how many daily backups are kept',
    parse: wholeNumber(1, 9_999),
    default: 14,
  }),
  trustProxy: setting({
    flag: 'trust-proxy',
    variable: 'TRUST_PROXY',
    placeholder: 'NUMBER',
    description: "how many proxies in front are trusted to report the client's address",
    parse: wholeNumber(0, 99),
    default: 0,
  }),
  logLevel: setting({
    flag: 'log-level',
    variable: 'LOG_LEVEL',
    placeholder: 'LEVEL',
    description: LOG_LEVELS.join(', '),
    parse: oneOf(LOG_LEVELS),
    default: 'info',
  }),
  metricsPort: setting({
    flag: 'metrics-port',
    variable: 'METRICS_PORT',
    placeholder: 'PORT',
    description: 'port of the Prometheus metrics, at /metrics; 0 picks a free one',
    parse: parsePort,
    defaultText: 'off',
  }),
  metricsHost: setting({
    flag: 'metrics-host',
    variable: 'METRICS_HOST',
    placeholder: 'ADDRESS',
    description: 'address to listen on for the metrics',
    parse: parseHost,
    default: '127.0.0.1',
  }),
  shutdownDelay: duration({
    flag: 'shutdown-delay',
    variable: 'SHUTDOWN_DELAY',
    placeholder: 'TIME',
    description: `how long to keep serving, with /readyz failing, before the listener closes; at most ${formatDuration(MAX_SHUTDOWN_DELAY_MS)}`,
    parse: durationBetween(0, MAX_SHUTDOWN_DELAY_MS),
    default: 1_000,
  }),
  workers: setting({
    flag: 'workers',
    variable: 'WORKERS',
    placeholder: 'NUMBER',
    description: 'number of processes, or auto for one per core',
    parse: parseWorkers,
    default: 1,
  }),
  // A secret has no flag: every user of the machine can see flags.
  apiKey: setting({
    variable: 'ANIMAL_STORE_API_KEY',
    description: `one extra key, accepted in addition to the stored ones; ${EXTRA_KEY_RULE}`,
    parse: parseExtraKey,
    defaultText: 'none',
    isSecret: true,
  }),
}

/** The names of the settings of `serve`. */
export const SERVICE_SETTING_NAMES = Object.keys(SERVICE_SETTINGS) as (keyof typeof SERVICE_SETTINGS)[]

export const SETTINGS = {
  ...SERVICE_SETTINGS,
  to: setting({
    flag: 'to',
    variable: 'TO_DATABASE_URL',
    placeholder: 'URL',
    description: 'the database to copy to; use the variable for a URL with a password',
    parse: parseDatabaseUrl,
    defaultText: 'none',
    isSecret: true,
    isRequired: true,
  }),
  name: setting({
    flag: 'name',
    placeholder: 'NAME',
    description: `what the key is for, in at most ${MAX_KEY_NAME_LENGTH} characters`,
    parse: parseKeyName,
    default: '',
    isRequired: true,
  }),
  keyName: setting({
    flag: 'name',
    placeholder: 'NAME',
    description: 'the key by its name instead of its ID, if exactly one valid key has it',
    parse: parseKeyName,
  }),
  readOnly: switchNamed('read-only', 'the key may list, search, count and read, and change nothing'),
  expires: setting({
    flag: 'expires',
    placeholder: 'TIME',
    description: 'how long the key is valid, such as 90d',
    parse: durationBetween(1_000, MAX_KEY_LIFETIME_MS, KEY_LIFETIME_EXAMPLE),
    defaultText: 'never',
  }),
  overlap: duration({
    flag: 'overlap',
    placeholder: 'TIME',
    description: 'how long the old key keeps working, such as 0s or 24h',
    parse: durationBetween(0, MAX_KEY_LIFETIME_MS, KEY_LIFETIME_EXAMPLE),
    default: UNIT_MS.d,
  }),
  format: setting({
    flag: 'format',
    placeholder: 'NAME',
    description: `${FORMAT_NAMES.join(', ')}, for standard input or output and for names without an ending`,
    parse: oneOf(FORMAT_NAMES),
    defaultText: 'the ending of FILE; without one, import looks at the content and export writes jsonl',
  }),
  spreadsheetSafe: switchNamed(
    'spreadsheet-safe',
    'CSV and TSV: put an apostrophe before names that a spreadsheet would run as formulas',
  ),
  etags: switchNamed('etags', 'add the ETag of each animal, so that import --update changes no newer one'),
  skipInvalid: switchNamed('skip-invalid', 'report invalid lines and import the others'),
  dryRun: switchNamed('dry-run', 'read and check the whole file, and store nothing'),
  update: switchNamed('update', 'change the animals with the ids of the file, instead of adding animals'),
  overwrite: switchNamed(
    'overwrite',
    'with --update: compare no ETags, and overwrite what was changed since the export',
  ),
  fromLine: setting({
    flag: 'from-line',
    placeholder: 'NUMBER',
    description: 'line to start at, to resume an interrupted import',
    parse: wholeNumber(1, 999_999_999),
    default: 1,
  }),
  json: switchNamed('json', 'print JSON'),
  envFile: setting({
    flag: 'env-file',
    placeholder: 'FILE',
    description: 'file with variables; one that is set already wins',
    parse: text => text,
  }),
}

export type SettingName = keyof typeof SETTINGS

/** The settings that every command has besides its own. */
export const COMMON_SETTINGS: readonly SettingName[] = ['envFile']

/** The parsed settings. */
export type Settings<Name extends SettingName> = {
  readonly [Each in Name]: (typeof SETTINGS)[Each]['default']
}

export type ServiceSettings = Settings<keyof typeof SERVICE_SETTINGS>

export const DEFAULT_SERVICE_SETTINGS = Object.fromEntries(
  Object.entries(SERVICE_SETTINGS).map(([name, setting]) => [name, setting.default]),
) as unknown as ServiceSettings
