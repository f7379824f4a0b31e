// The values that settings may have: one parser for each kind, text in, a value out.

import { availableParallelism } from 'node:os'
import type { Environment } from './api-key.ts'

/** Something is wrong with a value: the message completes "… must be". */
export class Problem extends Error {}

export type DatabaseAddress =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'sqlite-memory' }
  | { readonly kind: 'postgres'; readonly url: string }

export const FORMATS = ['jsonl', 'csv'] as const
export type FormatName = (typeof FORMATS)[number]

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

export function matching(pattern: RegExp, words: string): (text: string) => string {
  return text => {
    if (!pattern.test(text)) throw new Problem(words)
    return text
  }
}

export function oneOf<Value extends string>(values: readonly Value[]): (text: string) => Value {
  return text => {
    const value = values.find(known => known === text)
    if (value === undefined) throw new Problem(`one of ${values.join(', ')}`)
    return value
  }
}

export function parsePort(text: string): number {
  const port = /^(0|[1-9]\d{0,4})$/.test(text) ? Number(text) : Number.NaN
  if (!(port <= 65_535)) throw new Problem('a whole number from 0 to 65535')
  return port
}

export function parseWorkers(text: string): number {
  if (text === 'auto') return availableParallelism()
  if (!/^[1-9]\d?$/.test(text)) throw new Problem('auto, or a whole number from 1 to 99')
  return Number(text)
}

export function parseLineNumber(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new Problem('the number of a line, from 1 on')
  return Number(text)
}

export function parseDatabaseUrl(text: string): DatabaseAddress {
  if (text === 'sqlite::memory:') return { kind: 'sqlite-memory' }
  if (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text)) return { kind: 'postgres', url: text }
  // sqlite://x would mean the file /x to some programs and x to others; sqlite::mem is a slip of the pen.
  const path = /^sqlite:(?!\/\/[^/]|:)(.+)$/.exec(text)?.[1]
  if (path === undefined)
    throw new Problem(
      'sqlite:<path>, sqlite::memory: or postgres://user:password@host:port/database, percent-encoded',
    )
  return { kind: 'sqlite', path }
}

/** The default database: one file for each environment. */
export function defaultDatabase(environment: Environment): DatabaseAddress {
  return { kind: 'sqlite', path: `data/${environment}.db` }
}

export function parseBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (
    !url ||
    !/^https?:$/.test(url.protocol) ||
    !/\/v1$/.test(text) ||
    url.search ||
    url.hash ||
    url.username
  ) {
    throw new Problem('an http or https address that ends in /v1, with no user name, query or fragment')
  }
  return text
}

/** One or several, with commas or spaces between them. */
export function parseOrigins(text: string): string[] {
  const origins = text.split(/[\s,]+/).filter(part => part !== '')
  const isOrigin = (part: string) =>
    part === '*' || (/^https?:/.test(part) && URL.canParse(part) && new URL(part).origin === part)
  if (origins.length === 0 || !origins.every(isOrigin)) {
    throw new Problem('origins such as https://app.example, without a path, or *')
  }
  return origins
}

export function durationOf({
  least,
  most,
  words,
}: {
  least: number
  most: number
  words: string
}): (text: string) => number {
  return text => {
    const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
    const duration = Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]
    if (!(duration >= least && duration <= most)) throw new Problem(words)
    return duration
  }
}

export function keyTime(least = UNIT_MS.s): (text: string) => number {
  return durationOf({
    least,
    most: 3650 * UNIT_MS.d,
    words: `a time from ${least / UNIT_MS.s}s to 3650d, such as 90d or 24h`,
  })
}
