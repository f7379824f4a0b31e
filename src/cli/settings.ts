// Every setting of every command: its flag, its environment variable, its default and its description. The help and the
// docs take their text from here.

import { ENVIRONMENTS } from '../api-key.ts'
import { formatDuration, UNIT_MS } from '../clock.ts'
import { DEFAULT_CONNECTIONS, defaultDatabase, parseDatabaseUrl } from '../database/open.ts'
import { FORMAT_NAMES } from './formats.ts'
import * as values from './setting-values.ts'

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

/**
 * `usage` is the flag, the placeholder of its value and the variable, such as `--port PORT (PORT)`. Without a default, the
 * setting is undefined if it is not given.
 */
function setting<Value, const Default extends Value | undefined = undefined>(
  usage: string,
  description: string,
  parse: (text: string) => Value,
  options: Partial<Omit<Setting<Value>, 'default'>> & { readonly default?: Default } = {},
): Setting<Value | Default> {
  const [, flag, placeholder, variable] = /^(?:--([\w-]+))?(?: ([A-Z/]+))? ?(?:\((\w+)\))?$/.exec(usage) ?? []
  return { flag, placeholder, variable, description, parse, ...options, default: options.default as Default }
}

function flagOnly(usage: string, description: string): Setting<boolean> {
  return setting(usage, description, () => true, { default: false })
}

function duration(usage: string, description: string, parse: (text: string) => number, defaultMs: number) {
  return setting(usage, description, parse, { default: defaultMs, defaultText: formatDuration(defaultMs) })
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
const MAX_SHUTDOWN_DELAY_MS = 5_000
const MAX_KEY_NAME_LENGTH = 100
const KEY_LIFETIME_EXAMPLE = ', such as 90d or 24h'
const MAX_KEY_LIFETIME_MS = 3650 * UNIT_MS.d

const parsePort = values.wholeNumber(0, 65_535)
const parseKeyName = values.matching(
  new RegExp(`^(?=.*\\S)[^\\p{Cc}]{1,${MAX_KEY_NAME_LENGTH}}$`, 'u'),
  `1 to ${MAX_KEY_NAME_LENGTH} characters, not blank, without control characters`,
)

/** The settings of `serve`. */
const SERVICE_SETTINGS = {
  host: setting('--host ADDRESS (HOST)', 'address to listen on', values.parseHost, { default: '127.0.0.1' }),
  port: setting('--port PORT (PORT)', 'port to listen on; 0 picks a free one', parsePort, { default: 8080 }),
  databaseUrl: setting(
    '--database-url URL (DATABASE_URL)',
    'sqlite:<path>, sqlite::memory: or postgres://…; use the variable for a URL with a password, because every user of the machine can see flags',
    parseDatabaseUrl,
    {
      // readSettings replaces it by the file of the environment.
      default: defaultDatabase('production'),
      defaultText: `sqlite:${defaultDatabase('<environment>').path}`,
      isSecret: true,
    },
  ),
  databaseConnections: setting(
    '--database-connections NUMBER (DATABASE_CONNECTIONS)',
    'PostgreSQL connections per process',
    values.wholeNumber(1, 999),
    { default: DEFAULT_CONNECTIONS },
  ),
  databaseWait: duration(
    '--database-wait TIME (DATABASE_WAIT)',
    'PostgreSQL: how long to wait at start for a server that is unreachable or read-only',
    values.durationBetween(0, UNIT_MS.h),
    10_000,
  ),
  environment: setting(
    '--environment NAME (ANIMAL_STORE_ENV)',
    ENVIRONMENTS.join(' or '),
    values.oneOf(ENVIRONMENTS),
    { default: 'production' },
  ),
  productionUrl: setting(
    '--production-url URL (PRODUCTION_URL)',
    'public base URL of production, for links and the OpenAPI document',
    values.parseBaseUrl,
    { defaultText: "in production: the server's own address + /v1", isSecret: true },
  ),
  stagingUrl: setting(
    '--staging-url URL (STAGING_URL)',
    'public base URL of staging, for links and the OpenAPI document',
    values.parseBaseUrl,
    { defaultText: "in staging: the server's own address + /v1", isSecret: true },
  ),
  corsOrigins: setting(
    '--cors-origin ORIGIN (CORS_ORIGIN)',
    'origin whose pages may use the API from a browser, or *; may be repeated',
    values.parseOrigins,
    { default: [], defaultText: 'none', isRepeatable: true },
  ),
  rateLimit: setting(
    '--rate-limit NUMBER/TIME (RATE_LIMIT)',
    'how many requests each API key may send, such as 600/60s',
    values.parseRateLimit,
    { defaultText: 'off' },
  ),
  trustProxy: setting(
    '--trust-proxy NUMBER (TRUST_PROXY)',
    "how many proxies in front are trusted to report the client's address",
    values.wholeNumber(0, 99),
    { default: 0 },
  ),
  logLevel: setting('--log-level LEVEL (LOG_LEVEL)', LOG_LEVELS.join(', '), values.oneOf(LOG_LEVELS), {
    default: 'info',
  }),
  metricsPort: setting(
    '--metrics-port PORT (METRICS_PORT)',
    'port of the Prometheus metrics, at /metrics; 0 picks a free one',
    parsePort,
    { defaultText: 'off' },
  ),
  metricsHost: setting(
    '--metrics-host ADDRESS (METRICS_HOST)',
    'address to listen on for the metrics',
    values.parseHost,
    { default: '127.0.0.1' },
  ),
  shutdownDelay: duration(
    '--shutdown-delay TIME (SHUTDOWN_DELAY)',
    `how long to keep serving, with /readyz failing, before the listener closes; at most ${formatDuration(MAX_SHUTDOWN_DELAY_MS)}`,
    values.durationBetween(0, MAX_SHUTDOWN_DELAY_MS),
    1_000,
  ),
  workers: setting(
    '--workers NUMBER (WORKERS)',
    'number of processes, or auto for one per core',
    values.parseWorkers,
    { default: 1 },
  ),
  // A secret has no flag: every user of the machine can see flags.
  apiKey: setting(
    '(ANIMAL_STORE_API_KEY)',
    `one extra key, accepted in addition to the stored ones; ${values.EXTRA_KEY}`,
    values.parseExtraKey,
    { defaultText: 'none', isSecret: true },
  ),
}

/** The names of the settings of `serve`. */
export const SERVICE_SETTING_NAMES = Object.keys(SERVICE_SETTINGS) as (keyof typeof SERVICE_SETTINGS)[]

export const SETTINGS = {
  ...SERVICE_SETTINGS,
  name: setting(
    '--name NAME',
    `what the key is for, in at most ${MAX_KEY_NAME_LENGTH} characters`,
    parseKeyName,
    { default: '', isRequired: true },
  ),
  expires: setting(
    '--expires TIME',
    'how long the key is valid, such as 90d',
    values.durationBetween(1_000, MAX_KEY_LIFETIME_MS, KEY_LIFETIME_EXAMPLE),
    { defaultText: 'never' },
  ),
  overlap: duration(
    '--overlap TIME',
    'how long the old key keeps working, such as 0s or 24h',
    values.durationBetween(0, MAX_KEY_LIFETIME_MS, KEY_LIFETIME_EXAMPLE),
    UNIT_MS.d,
  ),
  format: setting(
    '--format NAME',
    `${FORMAT_NAMES.join(', ')}, for standard input or output and for names without an ending`,
    values.oneOf(FORMAT_NAMES),
    { defaultText: 'the ending of FILE; without one, import looks at the content and export writes jsonl' },
  ),
  spreadsheetSafe: flagOnly(
    '--spreadsheet-safe',
    'CSV and TSV: put an apostrophe before names that a spreadsheet would run as formulas',
  ),
  skipInvalid: flagOnly('--skip-invalid', 'report invalid lines and import the others'),
  dryRun: flagOnly('--dry-run', 'read and check the whole file, and store nothing'),
  fromLine: setting(
    '--from-line NUMBER',
    'line to start at, to resume an interrupted import',
    values.wholeNumber(1, 999_999_999),
    { default: 1 },
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
