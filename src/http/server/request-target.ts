// Splits the request target into the path and the query.

const ORIGIN = /^https?:\/\/[^/?#]*/i

export interface Target {
  readonly path: string
  readonly query: string
}

/** A path with malformed percent-encoding becomes one that no route matches. */
export function parseTarget(target: string): Target {
  const relative = target.startsWith('/') ? target : target.replace(ORIGIN, '')
  const queryAt = relative.indexOf('?')
  const path = queryAt === -1 ? relative : relative.slice(0, queryAt)
  const query = queryAt === -1 ? '' : relative.slice(queryAt + 1)
  return { path: decode(path) || '/', query }
}

function decode(path: string): string {
  if (!path.includes('%')) return path
  try {
    return decodeURI(path)
  } catch {
    // No route except `/` ends in a slash.
    return `${path}/`
  }
}
