// Every setting of every command: its flag, its environment variable, its default and its description. The help and the
// README take their text from here. Those of serve are in this file, the others in command-settings.ts.

import { ENVIRONMENTS } from '../api-key.ts'
import { DEFAULT_CONNECTIONS } from '../database/postgres/limits.ts'
import { COMMAND_SETTINGS } from './command-settings.ts'
import {
  defaultDatabasePath,
  defaultDuration,
  durationBetween,
  formatDuration,
  HOUR_MS,
  oneOf,
  parseBaseUrl,
  parseDatabaseUrl,
  parseHost,
  parseOrigins,
  parseRateLimit,
  parseWorkers,
  visibleAscii,
  wholeNumber,
} from './setting-values.ts'

const MAX_SHUTDOWN_DELAY_MS = 5_000

const EXTRA_KEY = visibleAscii(20, 255)

const parsePort = wholeNumber(0, 65_535)

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

export interface Setting<Value> {
  readonly flag?: string
  readonly variable?: string
  /** Stands for the value in the help. A setting without it is a switch. */
  readonly placeholder?: string
  readonly description: string
  /** The value of a setting that is not given. Without it the value is undefined. */
  readonly default?: Value
  /** The default in words, if it is not simply the text of `default`. */
  readonly defaultText?: string
  /** Never shown in an error message. */
  readonly isSecret?: boolean
  readonly isRequired?: boolean
  /** The flag may be given several times. `parse` gets the values joined with commas. */
  readonly isRepeatable?: boolean
  /** Throws an InvalidSetting that says what was expected. */
  readonly parse: (text: string) => Value
}

export const SETTINGS = {
  host: {
    flag: 'host',
    variable: 'HOST',
    placeholder: 'ADDRESS',
    default: '127.0.0.1',
    description: 'address to listen on',
    parse: parseHost,
  },
  port: {
    flag: 'port',
    variable: 'PORT',
    placeholder: 'PORT',
    default: 8080,
    description: 'port to listen on; 0 picks a free one',
    parse: parsePort,
  },
  databaseUrl: {
    flag: 'database-url',
    variable: 'DATABASE_URL',
    placeholder: 'URL',
    defaultText: `sqlite:${defaultDatabasePath('<environment>')}`,
    description: 'sqlite:<path>, sqlite::memory: or postgres://…',
    // The URL may contain a password.
    isSecret: true,
    parse: parseDatabaseUrl,
  },
  databaseConnections: {
    flag: 'database-connections',
    variable: 'DATABASE_CONNECTIONS',
    placeholder: 'NUMBER',
    default: DEFAULT_CONNECTIONS,
    description: 'PostgreSQL connections per process',
    parse: wholeNumber(1, 999),
  },
  databaseWait: {
    flag: 'database-wait',
    variable: 'DATABASE_WAIT',
    placeholder: 'TIME',
    ...defaultDuration(10_000),
    description: 'PostgreSQL: how long to wait at start for a server that is unreachable or read-only',
    parse: durationBetween(0, HOUR_MS),
  },
  environment: {
    flag: 'environment',
    variable: 'ANIMAL_STORE_ENV',
    placeholder: 'NAME',
    default: 'production',
    description: ENVIRONMENTS.join(' or '),
    parse: oneOf(ENVIRONMENTS),
  },
  productionUrl: {
    flag: 'production-url',
    variable: 'PRODUCTION_URL',
    placeholder: 'URL',
    defaultText: "in production: the server's own address + /v1",
    description: 'public base URL of production, for links and the OpenAPI document',
    // The URL may contain a password.
    isSecret: true,
    parse: parseBaseUrl,
  },
  stagingUrl: {
    flag: 'staging-url',
    variable: 'STAGING_URL',
    placeholder: 'URL',
    defaultText: "in staging: the server's own address + /v1",
    description: 'public base URL of staging, for links and the OpenAPI document',
    isSecret: true,
    parse: parseBaseUrl,
  },
  corsOrigins: {
    flag: 'cors-origin',
    variable: 'CORS_ORIGIN',
    placeholder: 'ORIGIN',
    default: [],
    defaultText: 'none',
    description: 'origin whose pages may use the API from a browser, or *; may be repeated',
    isRepeatable: true,
    parse: parseOrigins,
  },
  rateLimit: {
    flag: 'rate-limit',
    variable: 'RATE_LIMIT',
    placeholder: 'NUMBER/TIME',
    defaultText: 'off',
    description: 'how many requests each API key may send, such as 600/60s',
    parse: parseRateLimit,
  },
  trustProxy: {
    flag: 'trust-proxy',
    variable: 'TRUST_PROXY',
    placeholder: 'NUMBER',
    default: 0,
    description: "how many proxies in front are trusted to report the client's address",
    parse: wholeNumber(0, 99),
  },
  logLevel: {
    flag: 'log-level',
    variable: 'LOG_LEVEL',
    placeholder: 'LEVEL',
    default: 'info',
    description: LOG_LEVELS.join(', '),
    parse: oneOf(LOG_LEVELS),
  },
  metricsPort: {
    flag: 'metrics-port',
    variable: 'METRICS_PORT',
    placeholder: 'PORT',
    defaultText: 'off',
    description: 'port of the Prometheus metrics, at /metrics; 0 picks a free one',
    parse: parsePort,
  },
  metricsHost: {
    flag: 'metrics-host',
    variable: 'METRICS_HOST',
    placeholder: 'ADDRESS',
    default: '127.0.0.1',
    description: 'address to listen on for the metrics',
    parse: parseHost,
  },
  shutdownDelay: {
    flag: 'shutdown-delay',
    variable: 'SHUTDOWN_DELAY',
    placeholder: 'TIME',
    ...defaultDuration(1_000),
    description: `how long to keep serving, with /readyz failing, before the listener closes; at most ${formatDuration(MAX_SHUTDOWN_DELAY_MS)}`,
    parse: durationBetween(0, MAX_SHUTDOWN_DELAY_MS),
  },
  workers: {
    flag: 'workers',
    variable: 'WORKERS',
    placeholder: 'NUMBER',
    default: 1,
    description: 'number of processes, or auto for one per core',
    parse: parseWorkers,
  },
  stopWithParent: {
    flag: 'stop-with-parent',
    variable: 'npm_lifecycle_event',
    default: false,
    defaultText: 'off; on under npm and npx, which set the variable',
    description: 'stop when the parent process ends',
    parse: () => true,
  },
  apiKey: {
    variable: 'ANIMAL_STORE_API_KEY',
    defaultText: 'none',
    description: `one extra key, accepted in addition to the stored ones; ${EXTRA_KEY.expected}`,
    isSecret: true,
    parse: EXTRA_KEY.parse,
  },
  ...COMMAND_SETTINGS,
} as const satisfies Record<string, Setting<unknown>>

export type SettingName = keyof typeof SETTINGS

type ValueOf<Name extends SettingName> = ReturnType<(typeof SETTINGS)[Name]['parse']>

/** The parsed settings. One without a default may be undefined. */
export type Settings<Name extends SettingName> = {
  readonly [Each in Name]: (typeof SETTINGS)[Each] extends { readonly default: infer Default }
    ? ValueOf<Each> | (Default extends boolean ? boolean : never)
    : ValueOf<Each> | undefined
}
