// Every setting of every command: its flag, its environment variable, its default, its description and its parser. The
// help and the docs take their text from here.

import { availableParallelism } from 'node:os'
import { ENVIRONMENTS } from '../api-key.ts'
import { formatDuration, UNIT_MS } from '../clock.ts'
import { DEFAULT_CONNECTIONS, defaultDatabase, parseDatabaseUrl } from '../database/open.ts'
import type { RateLimit } from '../http/api/rate-limit.ts'
import { FORMAT_NAMES } from './formats.ts'

/** Thrown for an invalid value. The message completes the sentence "… must be". */
export class InvalidSetting extends Error {}

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

/** The shortest window of a rate limit. Its headers count in seconds. */
const MIN_WINDOW_MS = UNIT_MS.s
const MIN_DIFFERENT_CHARACTERS = 10
const EXTRA_KEY = `20 to 255 visible ASCII characters, at least ${MIN_DIFFERENT_CHARACTERS} of them different`
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
const MAX_SHUTDOWN_DELAY_MS = 5_000
const MAX_KEY_NAME_LENGTH = 100
const KEY_LIFETIME_EXAMPLE = ', such as 90d or 24h'
const MAX_KEY_LIFETIME_MS = 3650 * UNIT_MS.d

const parseHost = matching(/^[^\s/]+$/, 'a host name or an IP address')
const parsePort = wholeNumber(0, 65_535)
const parseNumberOfWorkers = wholeNumber(1, 99, 'auto, or ')
const parseKeyName = matching(
  new RegExp(`^(?=.*\\S)[^\\p{Cc}]{1,${MAX_KEY_NAME_LENGTH}}$`, 'u'),
  `1 to ${MAX_KEY_NAME_LENGTH} characters, not blank, without control characters`,
)

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
    description: `one extra key, accepted in addition to the stored ones; ${EXTRA_KEY}`,
    parse: parseExtraKey,
    defaultText: 'none',
    isSecret: true,
  }),
}

/** The names of the settings of `serve`. */
export const SERVICE_SETTING_NAMES = Object.keys(SERVICE_SETTINGS) as (keyof typeof SERVICE_SETTINGS)[]

export const SETTINGS = {
  ...SERVICE_SETTINGS,
  name: setting({
    flag: 'name',
    placeholder: 'NAME',
    description: `what the key is for, in at most ${MAX_KEY_NAME_LENGTH} characters`,
    parse: parseKeyName,
    default: '',
    isRequired: true,
  }),
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
  skipInvalid: switchNamed('skip-invalid', 'report invalid lines and import the others'),
  dryRun: switchNamed('dry-run', 'read and check the whole file, and store nothing'),
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

function matching(pattern: RegExp, expected: string): (text: string) => string {
  return text => {
    if (!pattern.test(text)) throw new InvalidSetting(expected)
    return text
  }
}

function oneOf<Value extends string>(values: readonly Value[]): (text: string) => Value {
  return text => {
    const value = values.find(known => known === text)
    if (value === undefined) throw new InvalidSetting(`one of ${values.join(', ')}`)
    return value
  }
}

function parseExtraKey(text: string): string {
  if (!/^[!-~]{20,255}$/.test(text) || new Set(text).size < MIN_DIFFERENT_CHARACTERS)
    throw new InvalidSetting(EXTRA_KEY)
  return text
}

/** `alternative` is for the message: another text that the setting accepts. */
function wholeNumber(minimum: number, maximum: number, alternative = ''): (text: string) => number {
  return text => {
    const number = /^(0|[1-9]\d{0,8})$/.test(text) ? Number(text) : Number.NaN
    if (number >= minimum && number <= maximum) return number
    throw new InvalidSetting(`${alternative}a whole number from ${minimum} to ${maximum}`)
  }
}

function parseWorkers(text: string): number {
  return text === 'auto' ? availableParallelism() : parseNumberOfWorkers(text)
}

function parseBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (
    !url ||
    !/^https?:$/.test(url.protocol) ||
    !/\/v1$/.test(text) ||
    url.search ||
    url.hash ||
    url.username ||
    url.password ||
    // As the target of a link, such a path would name another host.
    url.pathname.startsWith('//')
  ) {
    throw new InvalidSetting(
      'an http or https URL that ends in /v1, without user name, password, query or fragment',
    )
  }
  return text
}

/** Takes one or several origins, separated by commas or spaces. */
function parseOrigins(text: string): readonly string[] {
  const origins = text.split(/[\s,]+/).filter(part => part !== '')
  // An origin is compared as a whole, so a pattern such as https://*.example would match nothing.
  const isOrigin = (part: string) =>
    part === '*' || (/^https?:[^*]+$/.test(part) && URL.canParse(part) && new URL(part).origin === part)
  if (origins.length === 0 || !origins.every(isOrigin))
    throw new InvalidSetting('origins such as https://app.example, without a path or a pattern, or *')
  return origins
}

/** Returns a parser for durations such as 90s, 24h or 7d, in milliseconds. */
function durationBetween(minimumMs: number, maximumMs: number, example = ''): (text: string) => number {
  const expected = `a time from ${formatDuration(minimumMs)} to ${formatDuration(maximumMs)}${example}`
  return text => {
    const duration = parseDuration(text)
    if (!(duration >= minimumMs && duration <= maximumMs)) throw new InvalidSetting(expected)
    return duration
  }
}

/** Takes a number of requests and a time, such as 600/60s. */
function parseRateLimit(text: string): RateLimit {
  const [, requests, time = ''] = /^([1-9]\d{0,8})\/(.+)$/.exec(text) ?? []
  const windowMs = parseDuration(time)
  if (!(windowMs >= MIN_WINDOW_MS && windowMs <= UNIT_MS.d)) {
    const range = `${formatDuration(MIN_WINDOW_MS)} to ${formatDuration(UNIT_MS.d)}`
    throw new InvalidSetting(`a number of requests and a time from ${range}, such as 600/60s`)
  }
  return { requests: Number(requests), windowSeconds: windowMs / 1_000 }
}

/** Returns milliseconds, or NaN. */
function parseDuration(text: string): number {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  return Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]
}
