// Words for messages: reasons, and texts without passwords and keys.

import { ALL_PREFIXES } from '../api-key.ts'
import { ServiceError } from '../error.ts'
import { describeSystemError } from '../system-error.ts'

/** Returns why a command failed. A ServiceError has its reason as its cause, because clients must not see it. */
export function reasonOf(error: unknown): string {
  return describeSystemError(error instanceof ServiceError ? (error.cause ?? error) : error)
}

/** A URL with a user, or a password as a parameter. A pattern instead of a parser, to find malformed ones too. */
const CREDENTIALS = /(?::|\/\/).*@|password\s*=/is
const SCHEME = /^\s*(\w[\w+.-]*:)/

const KEY = new RegExp(`(${ALL_PREFIXES.join('|')})\\w+`, 'g')

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
