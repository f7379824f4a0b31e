// Reads the links to the previous and the next page from a `Link` header.

import { parseInt64 } from './json.ts'

const LINKS = {
  prev: { target: /<([^>]*)>\s*;\s*rel="?prev"?/i, parameter: 'before' },
  next: { target: /<([^>]*)>\s*;\s*rel="?next"?/i, parameter: 'after' },
}

/**
 * Returns the `before` of the previous page or the `after` of the next one, or undefined if there is no such page.
 * `bound` is the `before` or `after` of this page. Throws if the link does not lead beyond it, because `animals` would
 * never end.
 */
export function parseLink(
  header: string,
  relation: keyof typeof LINKS,
  bound: bigint | undefined,
): bigint | undefined {
  const { target, parameter } = LINKS[relation]
  const url = target.exec(header)?.[1]
  if (url === undefined) return undefined
  const id = parseInt64(new URLSearchParams(url.split('?')[1]).get(parameter) ?? '')
  const leadsOn = id !== undefined && (bound === undefined || (relation === 'prev' ? id < bound : id > bound))
  if (!leadsOn) throw new TypeError(`the link with rel="${relation}" leads to no other page`)
  return id
}
