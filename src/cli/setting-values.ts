// Which values the settings accept, and how they are parsed.

import { availableParallelism } from 'node:os'
import { READ_ONLY_PREFIX } from '../api-key.ts'
import { formatDuration, UNIT_MS } from '../clock.ts'
import type { RateLimit } from '../http/api/rate-limit.ts'

/** Thrown for an invalid value. The message completes the sentence "… must be". */
export class InvalidSetting extends Error {}

/** The shortest window of a rate limit. Its headers count in seconds. */
const MIN_WINDOW_MS = UNIT_MS.s
const MIN_DIFFERENT_CHARACTERS = 10
export const EXTRA_KEY_RULE = `20 to 255 visible ASCII characters, at least ${MIN_DIFFERENT_CHARACTERS} of them different`
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export const MAX_KEY_NAME_LENGTH = 100

export const parseHost = matching(/^[^\s/]+$/, 'a host name or an IP address')
export const parseFolder = matching(/^[^~]/, 'a folder, without ~, which only a shell replaces')
export const parsePort = wholeNumber(0, 65_535)
const parseNumberOfWorkers = wholeNumber(1, 99, 'auto, or ')
export const parseKeyName = matching(
  new RegExp(`^(?=.*\\S)[^\\p{Cc}]{1,${MAX_KEY_NAME_LENGTH}}$`, 'u'),
  `1 to ${MAX_KEY_NAME_LENGTH} characters, not blank, without control characters`,
)

function matching(pattern: RegExp, expected: string): (text: string) => string {
  return text => {
    if (!pattern.test(text)) throw new InvalidSetting(expected)
    return text
  }
}

export function oneOf<Value extends string>(values: readonly Value[]): (text: string) => Value {
  return text => {
    const value = values.find(known => known === text)
    if (value === undefined) throw new InvalidSetting(`one of ${values.join(', ')}`)
    return value
  }
}

export function parseExtraKey(text: string): string {
  if (!/^[!-~]{20,255}$/.test(text) || new Set(text).size < MIN_DIFFERENT_CHARACTERS)
    throw new InvalidSetting(EXTRA_KEY_RULE)
  if (Object.values(READ_ONLY_PREFIX).some(prefix => text.startsWith(prefix)))
    throw new InvalidSetting('another text than a read-only key, which could write as this key')
  return text
}

/** `alternative` is for the message: another text that the setting accepts. */
export function wholeNumber(minimum: number, maximum: number, alternative = ''): (text: string) => number {
  return text => {
    const number = /^(0|[1-9]\d{0,8})$/.test(text) ? Number(text) : Number.NaN
    if (number >= minimum && number <= maximum) return number
    throw new InvalidSetting(`${alternative}a whole number from ${minimum} to ${maximum}`)
  }
}

export function parseWorkers(text: string): number {
  return text === 'auto' ? availableParallelism() : parseNumberOfWorkers(text)
}

export function parseBaseUrl(text: string): string {
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
export function parseOrigins(text: string): readonly string[] {
  const origins = text.split(/[\s,]+/).filter(part => part !== '')
  // An origin is compared as a whole, so a pattern such as https://*.example would match nothing.
  const isOrigin = (part: string) =>
    part === '*' || (/^https?:[^*]+$/.test(part) && URL.canParse(part) && new URL(part).origin === part)
  if (origins.length === 0 || !origins.every(isOrigin))
    throw new InvalidSetting('origins such as https://app.example, without a path or a pattern, or *')
  return origins
}

/** Returns a parser for durations such as 90s, 24h or 7d, in milliseconds. */
export function durationBetween(
  minimumMs: number,
  maximumMs: number,
  example = '',
): (text: string) => number {
  const expected = `a time from ${formatDuration(minimumMs)} to ${formatDuration(maximumMs)}${example}`
  return text => {
    const duration = parseDuration(text)
    if (!(duration >= minimumMs && duration <= maximumMs)) throw new InvalidSetting(expected)
    return duration
  }
}

/** Takes a number of requests and a time, such as 600/60s. */
export function parseRateLimit(text: string): RateLimit {
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
