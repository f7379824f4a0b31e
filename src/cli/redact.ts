// Keeps passwords out of messages.

/** A URL with a user, or with a password as a parameter. Not every malformed one can be parsed as a URL. */
const CREDENTIALS = /^(\w[\w+.-]*:).*(?:@|password=)/is

/** Whether the text looks like a URL that contains a password. */
export function hasCredentials(text: string): boolean {
  return CREDENTIALS.test(text)
}

/** Returns the text for a message: of a URL that may contain a password, only the scheme. */
export function redact(text: string): string {
  const [, scheme] = CREDENTIALS.exec(text) ?? []
  return scheme === undefined ? text : `${scheme}…`
}
