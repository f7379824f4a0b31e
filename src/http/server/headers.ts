// Request headers exactly as they were sent. Node's own `headers` joins or drops repeated ones.

import type { IncomingMessage } from 'node:http'

/** Returns all values of a header, in the order they were sent. The name must be in lower case. */
export function headerValues({ headers, rawHeaders }: IncomingMessage, name: string): string[] {
  // Most headers are absent. Node's own object shows that without a search.
  if (headers[name] === undefined) return []
  const values: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const sent = rawHeaders[index] ?? ''
    if (sent.length === name.length && sent.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? '')
  }
  return values
}

/** Returns the values joined with commas, or undefined if there is none. */
export function joinedHeader(request: IncomingMessage, name: string): string | undefined {
  const values = headerValues(request, name)
  return values.length === 0 ? undefined : values.join(', ')
}
