// The parameters of the operations: the query of listPets (limit, status, and after or before, each at most once, and
// nothing else), and the Idempotency-Key header of createPet.

import { PAGE_LIMIT, parseStatus } from '../../animal.ts'
import { invalid } from '../../error.ts'
import { canonicalInteger } from '../../json.ts'
import type { JsonPage, Page } from '../../store.ts'

const PARAMETERS = ['limit', 'status', 'after', 'before']

const MAX_SHOWN_LENGTH = 40

export function parseListQuery(text: string): Page {
  // URLSearchParams drops a leading question mark, which here is the second one and belongs to a name.
  const query = new URLSearchParams(text.startsWith('?') ? `%3F${text.slice(1)}` : text)
  const values = new Map<string, string>()
  for (const [name, value] of query) {
    // Ignoring an unknown filter would give a wrong answer (docs/decisions/lists.md).
    if (!PARAMETERS.includes(name)) throw unknownParameter(name)
    if (values.has(name)) throw invalid(`${name} must be given at most once.`)
    values.set(name, value)
  }
  const limit = values.get('limit')
  const status = values.get('status')
  const after = values.get('after')
  const before = values.get('before')
  if (after !== undefined && before !== undefined)
    throw invalid('The query may contain after or before, not both.')
  return {
    limit: limit === undefined ? PAGE_LIMIT.default : parseLimit(limit),
    status: status === undefined ? undefined : parseStatus(status),
    after: after === undefined ? undefined : parseId('after', after),
    before: before === undefined ? undefined : parseId('before', before),
  }
}

function unknownParameter(name: string) {
  const shown = JSON.stringify(name.slice(0, MAX_SHOWN_LENGTH))
  return invalid(`The query may contain only ${PARAMETERS.join(', ')}, not ${shown}.`)
}

/** The `Link` header of a page, or undefined if there is no other page. The other pages have the same limit and status. */
export function pageLinks(
  basePath: string,
  { limit, status }: Page,
  { previous, next }: JsonPage,
): string | undefined {
  const url = `${basePath}/pets?limit=${limit}${status === undefined ? '' : `&status=${status}`}`
  const links: string[] = []
  if (previous !== undefined) links.push(`<${url}&before=${previous}>; rel="prev"`)
  if (next !== undefined) links.push(`<${url}&after=${next}>; rel="next"`)
  return links.length === 0 ? undefined : links.join(', ')
}

export function invalidLimit() {
  return invalid(`limit must be a whole number from ${PAGE_LIMIT.minimum} to ${PAGE_LIMIT.maximum}.`)
}

function parseLimit(text: string): number {
  const limit = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : 0
  if (limit < PAGE_LIMIT.minimum || limit > PAGE_LIMIT.maximum) throw invalidLimit()
  return limit
}

function parseId(name: string, text: string): bigint {
  const id = canonicalInteger(text)
  if (id === undefined) throw invalid(`${name} must be a 64-bit integer in plain decimal digits.`)
  return id
}

export const IDEMPOTENCY_KEY_MAX_LENGTH = 255

const BARE = `[!#-~]{1,${IDEMPOTENCY_KEY_MAX_LENGTH}}`
const QUOTED = `"(?:[!#-\\[\\]-~]|\\\\["\\\\]){1,${IDEMPOTENCY_KEY_MAX_LENGTH}}"`

export const IDEMPOTENCY_KEY_PATTERN = `^(?:${BARE}|${QUOTED})$`

const keyPattern = new RegExp(IDEMPOTENCY_KEY_PATTERN)

/**
 * A bare key, or a quoted string whose quotes are not part of the key. Takes all values of the header, joined with ', '.
 * Two values are rejected, because no key contains a space.
 */
export function parseIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  if (!keyPattern.test(header)) {
    throw invalid(
      `Idempotency-Key must be 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} visible ASCII characters, without spaces, given once.`,
    )
  }
  return header.startsWith('"') ? header.slice(1, -1).replace(/\\(.)/g, '$1') : header
}
