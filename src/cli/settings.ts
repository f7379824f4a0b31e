// Every setting of every command: its flag, its environment variable, its default and its description. The help and the
// docs take their text from here.

import { ENVIRONMENTS } from '../api-key.ts'
import { formatDuration } from '../clock.ts'
import { DEFAULT_CONNECTIONS, defaultDatabase } from '../database/open.ts'
import { FORMAT_NAMES } from './formats.ts'
import * as values from './setting-values.ts'

export interface Setting<Value> {
  /** Without the hyphens. */
  readonly flag?: string | undefined
  readonly variable?: string
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

type Options<Value> = Partial<Setting<Value>>

/** A setting with a default. `usage` is the flag and the placeholder of its value, such as `--port PORT`. */
function value<Value>(
  usage: string,
  description: string,
  parse: (text: string) => Value,
  defaultValue: Value,
  options: Options<Value> = {},
): Setting<Value> {
  const [flag, placeholder] = usage.slice('--'.length).split(' ')
  return { flag, placeholder, description, parse, default: defaultValue, ...options }
}

/** A setting that is undefined if it is not given. */
function optional<Value>(
  usage: string,
  description: string,
  parse: (text: string) => Value,
  options: Options<Value | undefined> = {},
): Setting<Value | undefined> {
  return value<Value | undefined>(usage, description, parse, undefined, options)
}

/** A duration, with its default as people write it. */
function duration(
  usage: string,
  description: string,
  parse: (text: string) => number,
  defaultMs: number,
  options: Options<number> = {},
): Setting<number> {
  return value(usage, description, parse, defaultMs, {
    defaultText: formatDuration(defaultMs),
    ...options,
  })
}

function flagOnly(usage: string, description: string): Setting<boolean> {
  return value(usage, description, () => true, false)
}

const { DAY_MS, HOUR_MS } = values
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
const MAX_SHUTDOWN_DELAY_MS = 5_000
const MAX_KEY_NAME_LENGTH = 100
const KEY_LIFETIME_EXAMPLE = ', such as 90d or 24h'
const MAX_KEY_LIFETIME_MS = 3650 * DAY_MS

const parsePort = values.wholeNumber(0, 65_535)
const parseKeyName = values.matching(
  new RegExp(`^(?=.*\\S)[^\\p{Cc}]{1,${MAX_KEY_NAME_LENGTH}}$`, 'u'),
  `1 to ${MAX_KEY_NAME_LENGTH} characters, not blank, without control characters`,
)

/** The settings of `serve`. */
const SERVICE_SETTINGS = {
  host: value('--host ADDRESS', 'address to listen on', values.parseHost, '127.0.0.1', { variable: 'HOST' }),
  port: value('--port PORT', 'port to listen on; 0 picks a free one', parsePort, 8080, { variable: 'PORT' }),
  databaseUrl: optional(
    '--database-url URL',
    'sqlite:<path>, sqlite::memory: or postgres://…; use the variable for a URL with a password, because every user of the machine can see flags',
    values.parseDatabase,
    {
      variable: 'DATABASE_URL',
      defaultText: `sqlite:${defaultDatabase('<environment>').path}`,
      isSecret: true,
    },
  ),
  databaseConnections: value(
    '--database-connections NUMBER',
    'PostgreSQL connections per process',
    values.wholeNumber(1, 999),
    DEFAULT_CONNECTIONS,
    { variable: 'DATABASE_CONNECTIONS' },
  ),
  databaseWait: duration(
    '--database-wait TIME',
    'PostgreSQL: how long to wait at start for a server that is unreachable or read-only',
    values.durationBetween(0, HOUR_MS),
    10_000,
    { variable: 'DATABASE_WAIT' },
  ),
  environment: value(
    '--environment NAME',
    ENVIRONMENTS.join(' or '),
    values.oneOf(ENVIRONMENTS),
    'production',
    { variable: 'ANIMAL_STORE_ENV' },
  ),
  productionUrl: optional(
    '--production-url URL',
    'public base URL of production, for links and the OpenAPI document',
    values.parseBaseUrl,
    {
      variable: 'PRODUCTION_URL',
      defaultText: "in production: the server's own address + /v1",
      isSecret: true,
    },
  ),
  stagingUrl: optional(
    '--staging-url URL',
    'public base URL of staging, for links and the OpenAPI document',
    values.parseBaseUrl,
    { variable: 'STAGING_URL', defaultText: "in staging: the server's own address + /v1", isSecret: true },
  ),
  corsOrigins: value<readonly string[]>(
    '--cors-origin ORIGIN',
    'origin whose pages may use the API from a browser, or *; may be repeated',
    values.parseOrigins,
    [],
    { variable: 'CORS_ORIGIN', defaultText: 'none', isRepeatable: true },
  ),
  rateLimit: optional(
    '--rate-limit NUMBER/TIME',
    'how many requests each API key may send, such as 600/60s',
    values.parseRateLimit,
    { variable: 'RATE_LIMIT', defaultText: 'off' },
  ),
  trustProxy: value(
    '--trust-proxy NUMBER',
    "how many proxies in front are trusted to report the client's address",
    values.wholeNumber(0, 99),
    0,
    { variable: 'TRUST_PROXY' },
  ),
  logLevel: value('--log-level LEVEL', LOG_LEVELS.join(', '), values.oneOf(LOG_LEVELS), 'info', {
    variable: 'LOG_LEVEL',
  }),
  metricsPort: optional(
    '--metrics-port PORT',
    'port of the Prometheus metrics, at /metrics; 0 picks a free one',
    parsePort,
    { variable: 'METRICS_PORT', defaultText: 'off' },
  ),
  metricsHost: value(
    '--metrics-host ADDRESS',
    'address to listen on for the metrics',
    values.parseHost,
    '127.0.0.1',
    { variable: 'METRICS_HOST' },
  ),
  shutdownDelay: duration(
    '--shutdown-delay TIME',
    `how long to keep serving, with /readyz failing, before the listener closes; at most ${formatDuration(MAX_SHUTDOWN_DELAY_MS)}`,
    values.durationBetween(0, MAX_SHUTDOWN_DELAY_MS),
    1_000,
    { variable: 'SHUTDOWN_DELAY' },
  ),
  workers: value(
    '--workers NUMBER',
    'number of processes, or auto for one per core',
    values.parseWorkers,
    1,
    { variable: 'WORKERS' },
  ),
  // A secret has no flag: every user of the machine can see flags.
  apiKey: optional(
    '',
    `one extra key, accepted in addition to the stored ones; ${values.EXTRA_KEY}`,
    values.parseExtraKey,
    { flag: undefined, variable: 'ANIMAL_STORE_API_KEY', defaultText: 'none', isSecret: true },
  ),
}

/** The names of the settings of `serve`. */
export const SERVICE_SETTING_NAMES = Object.keys(SERVICE_SETTINGS) as (keyof typeof SERVICE_SETTINGS)[]

export const SETTINGS = {
  ...SERVICE_SETTINGS,
  name: value(
    '--name NAME',
    `what the key is for, in at most ${MAX_KEY_NAME_LENGTH} characters`,
    parseKeyName,
    '',
    { isRequired: true },
  ),
  expires: optional(
    '--expires TIME',
    'how long the key is valid, such as 90d',
    values.durationBetween(1_000, MAX_KEY_LIFETIME_MS, KEY_LIFETIME_EXAMPLE),
    { defaultText: 'never' },
  ),
  overlap: duration(
    '--overlap TIME',
    'how long the old key keeps working, such as 0s or 24h',
    values.durationBetween(0, MAX_KEY_LIFETIME_MS, KEY_LIFETIME_EXAMPLE),
    DAY_MS,
  ),
  format: optional(
    '--format NAME',
    `${FORMAT_NAMES.join(', ')}, for standard input or output and for names without an ending`,
    values.oneOf(FORMAT_NAMES),
    { defaultText: 'the ending of FILE; without one, import looks at the content and export writes jsonl' },
  ),
  spreadsheetSafe: flagOnly(
    '--spreadsheet-safe',
    'CSV: put an apostrophe before names that a spreadsheet would run as formulas',
  ),
  skipInvalid: flagOnly('--skip-invalid', 'report invalid lines and import the others'),
  dryRun: flagOnly('--dry-run', 'read and check the whole file, and store nothing'),
  fromLine: value(
    '--from-line NUMBER',
    'line to start at, to resume an interrupted import',
    values.parseLineNumber,
    1,
  ),
  json: flagOnly('--json', 'print JSON'),
}

export type SettingName = keyof typeof SETTINGS

/** The parsed settings. */
export type Settings<Name extends SettingName> = {
  readonly [Each in Name]: (typeof SETTINGS)[Each]['default']
}

export type ServiceSettings = Settings<keyof typeof SERVICE_SETTINGS>

export const DEFAULT_SERVICE_SETTINGS = Object.fromEntries(
  Object.entries(SERVICE_SETTINGS).map(([name, setting]) => [name, setting.default]),
) as unknown as ServiceSettings
