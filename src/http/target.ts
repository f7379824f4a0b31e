// The request target, brought to the one form that the router reads.

const ORIGIN = /^https?:\/\/[^/?#]*/i

/** A path with malformed percent-encoding names nothing: it is led to a place below itself, where nothing is. */
export function normaliseTarget(target: string): string {
  const relative = target.replace(ORIGIN, '')
  const queryAt = relative.indexOf('?')
  const path = queryAt === -1 ? relative : relative.slice(0, queryAt)
  const query = queryAt === -1 ? '' : relative.slice(queryAt)
  const escaped = isWellFormed(path) ? path : `${path.replaceAll('%', '%25')}/malformed`
  const rooted = escaped.startsWith('/') ? escaped : `/${escaped}`
  return rooted.replaceAll('#', '%23') + query
}

function isWellFormed(path: string): boolean {
  if (!path.includes('%')) return true
  try {
    decodeURI(path)
    return true
  } catch {
    return false
  }
}
