// Words for messages: errors of the operating system, counts, and texts without passwords and keys.

import { getSystemErrorMessage } from 'node:util'
import { KEY_PREFIX } from '../api-key.ts'
import { ServiceError } from '../error.ts'

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EADDRINUSE: 'the port is taken',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EAI_AGAIN: 'the host name cannot be looked up',
  ECONNREFUSED: 'nothing listens at that address',
  ECONNRESET: 'the connection was closed by the other side',
  EEXIST: 'it already exists',
  EHOSTUNREACH: 'the host cannot be reached',
  EISDIR: 'it is a folder',
  ENOENT: 'the file does not exist',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is not a folder',
  ENOTFOUND: 'the host name is unknown',
  EPIPE: 'nobody reads it',
  EROFS: 'the file system is read-only',
  ETIMEDOUT: 'no answer in time',
}

/** Returns the reason without its code. */
export function describeSystemError(error: unknown): string {
  // A name that has several addresses fails with one error for each.
  if (error instanceof AggregateError && error.errors.length > 0) return describeSystemError(error.errors[0])
  // Some functions of Node.js report the number of the error without its sign.
  const { code = '', errno, message } = error as NodeJS.ErrnoException
  return (
    REASONS[code] ??
    (errno === undefined ? (message ?? String(error)) : getSystemErrorMessage(-Math.abs(errno)))
  )
}

/** Returns why a command failed. A ServiceError has its reason as its cause, because clients must not see it. */
export function reasonOf(error: unknown): string {
  return describeSystemError(error instanceof ServiceError ? (error.cause ?? error) : error)
}

/** Writes a count with its noun, such as "1 animal" or "2,000 animals". */
export function formatCount(count: number | bigint, noun = 'animal'): string {
  return `${count.toLocaleString('en')} ${noun}${BigInt(count) === 1n ? '' : 's'}`
}

/** A URL with a user, or a password as a parameter. A pattern instead of a parser, to find malformed ones too. */
const CREDENTIALS = /(?::|\/\/).*@|password\s*=/is
const SCHEME = /^\s*(\w[\w+.-]*:)/

const KEY = new RegExp(`(${Object.values(KEY_PREFIX).join('|')})\\w+`, 'g')

/** Whether the text looks like a URL, or a list of parameters, that contains a password. */
export function hasCredentials(text: string): boolean {
  return CREDENTIALS.test(text)
}

/** Returns the text for a message: only the scheme of a URL that contains a password, only the prefix of a key. */
export function redact(text: string): string {
  if (!hasCredentials(text)) return text.replaceAll(KEY, '$1…')
  const [, scheme = ''] = SCHEME.exec(text) ?? []
  return `${scheme}…`
}
