// Chooses a content encoding by the `Accept-Encoding` header (RFC 9110, section 12.5.3).

export type Encoding = 'br' | 'gzip' | 'identity'

const ITEM = /^([^\s;]+)\s*(?:;\s*q=([01](?:\.\d{0,3})?))?$/

/**
 * Returns the encoding that the client prefers, and among equals the one that is usually smallest. If the client accepts
 * none of them, it is `identity`, which every client can read.
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
