// Request headers exactly as they were sent, because Node's own `headers` joins or drops repeated ones, and the content
// encoding that a client prefers.

import type { IncomingMessage } from 'node:http'

export type Encoding = 'br' | 'gzip' | 'identity'

const ITEM = /^([^\s;]+)\s*(?:;\s*q=([01](?:\.\d{0,3})?))?$/

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

/**
 * Chooses by the `Accept-Encoding` header (RFC 9110, section 12.5.3): the encoding that the client prefers, and among equals the
 * one that is usually smallest. If the client accepts none of them, it is `identity`, which every client can read.
 */
export function chooseEncoding(acceptEncoding: string | undefined): Encoding {
  if (acceptEncoding === undefined) return 'identity'
  const weights = parseWeights(acceptEncoding)
  const weightOf = (encoding: Encoding) => weights.get(encoding) ?? weights.get('*') ?? 0
  const best = weightOf('gzip') > weightOf('br') ? 'gzip' : 'br'
  const identityWeight = weights.get('identity') ?? 0
  return weightOf(best) > 0 && weightOf(best) >= identityWeight ? best : 'identity'
}

/** Ignores malformed items. */
function parseWeights(acceptEncoding: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const item of acceptEncoding.toLowerCase().split(',')) {
    const [, coding, weight = '1'] = ITEM.exec(item.trim()) ?? []
    if (coding !== undefined) weights.set(coding === 'x-gzip' ? 'gzip' : coding, Math.min(Number(weight), 1))
  }
  return weights
}
