// Request headers as they were sent: Node's own `headers` joins or drops what comes twice.

import type { IncomingMessage } from 'node:http'

/** All values of the header with this name, which is given in lower case, in the order they were sent in. */
export function headerValues({ headers, rawHeaders }: IncomingMessage, name: string): string[] {
  // Most are not there, and Node has looked already.
  if (headers[name] === undefined) return []
  const values: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const sent = rawHeaders[index] ?? ''
    if (sent.length === name.length && sent.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? '')
  }
  return values
}

/** The values as one, the way HTTP joins a list; undefined where there is none. */
export function joinedHeader(request: IncomingMessage, name: string): string | undefined {
  const values = headerValues(request, name)
  return values.length === 0 ? undefined : values.join(', ')
}
