// Keeps passwords and API keys out of messages.

import { KEY_PREFIX } from '../api-key.ts'

/** A URL with a user, or a password as a parameter. A pattern instead of a parser, to find malformed ones too. */
const CREDENTIALS = /^\s*\w[\w+.-]*(?::|\/\/).*@|password\s*=/is
/** The same with any mistake in the scheme. A file may have such a name, so this is only good for messages. */
const POSSIBLE_CREDENTIALS = /(?::|\/\/).*@|password\s*=/is
const SCHEME = /^\s*(\w[\w+.-]*:)/

const KEY = new RegExp(`(${Object.values(KEY_PREFIX).join('|')})\\w+`, 'g')

/** Whether the text looks like a URL, or a list of parameters, that contains a password. */
export function hasCredentials(text: string): boolean {
  return CREDENTIALS.test(text)
}

/** Returns the text for a message: only the scheme of a URL that may contain a password, only the prefix of a key. */
export function redact(text: string): string {
  if (!POSSIBLE_CREDENTIALS.test(text)) return text.replaceAll(KEY, '$1…')
  const [, scheme = ''] = SCHEME.exec(text) ?? []
  return `${scheme}…`
}
