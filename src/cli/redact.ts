// Keeps passwords and API keys out of messages.

import { KEY_PREFIX } from '../api-key.ts'

/** A URL with a user, or with a password as a parameter. A pattern instead of a parser, to find malformed ones too. */
const CREDENTIALS = /^(\w[\w+.-]*:).*(?:@|password=)/is

const KEY = new RegExp(`(${Object.values(KEY_PREFIX).join('|')})\\w+`, 'g')

/** Whether the text looks like a URL that contains a password. */
export function hasCredentials(text: string): boolean {
  return CREDENTIALS.test(text)
}

/** Returns the text for a message: only the scheme of a URL that may contain a password, only the prefix of a key. */
export function redact(text: string): string {
  const [, scheme] = CREDENTIALS.exec(text) ?? []
  return scheme === undefined ? text.replaceAll(KEY, '$1…') : `${scheme}…`
}
