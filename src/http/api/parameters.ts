// The parameters of the operations: their queries, of which each parameter is given at most once and no other is accepted, and the
// Idempotency-Key header of those that write.

import { foldName, isBlank, textProblem } from '../../animal.ts'
import { parseStatus } from '../../animal-json.ts'
import { invalid } from '../../error.ts'
import { canonicalInteger } from '../../int64.ts'
import { type JsonPage, PAGE_LIMIT, type Page, SEARCH_MAX_LENGTH } from '../../page.ts'

const PARAMETERS = ['limit', 'status', 'name', 'categoryId', 'after', 'before']

/** The parameters that the links to other pages keep as they were sent. */
const FILTERS = ['status', 'name', 'categoryId']

const MAX_SHOWN_LENGTH = 40

interface ListQuery {
  readonly page: Page
  /** The filters as they were sent, such as `&status=sold&name=zo%C3%AB`. */
  readonly filters: string
}

export function parseListQuery(text: string): ListQuery {
  const { sent, get } = parseQuery(text, PARAMETERS)
  if (sent.has('after') && sent.has('before'))
    throw invalid('The query may contain after or before, not both.')
  const page = {
    limit: get('limit', parseLimit) ?? PAGE_LIMIT.default,
    status: get('status', parseStatus),
    nameContains: get('name', parseNameFilter),
    categoryId: get('categoryId', digits => parseInteger('categoryId', digits)),
    after: get('after', digits => parseInteger('after', digits)),
    before: get('before', digits => parseInteger('before', digits)),
  }
  const filters = FILTERS.filter(name => sent.has(name)).map(
    name => `&${name}=${forLink(sent.get(name) ?? '')}`,
  )
  return { page, filters: filters.join('') }
}

export function invalidLimit() {
  return invalid(`limit must be a whole number from ${PAGE_LIMIT.minimum} to ${PAGE_LIMIT.maximum}.`)
}

/** Parses how many animals a page has. */
function parseLimit(text: string): number {
  const limit = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : 0
  if (limit < PAGE_LIMIT.minimum || limit > PAGE_LIMIT.maximum) throw invalidLimit()
  return limit
}

/** Parses the text that the names of a search must contain, and folds it. */
function parseNameFilter(text: string): string {
  const folded = foldName(text)
  const problem =
    textProblem(text, SEARCH_MAX_LENGTH) ??
    (isBlank(folded)
      ? 'name must have a character that is neither blank nor an accent or vowel mark'
      : undefined)
  if (problem !== undefined) throw invalid(`${problem}.`)
  return folded
}

interface Query {
  /** The values as they were sent. */
  readonly sent: ReadonlyMap<string, string>
  /** Parses a decoded value. Returns undefined if there is none. */
  get<Value>(name: string, parse: (text: string) => Value): Value | undefined
}

/** Each parameter may be given once, and no other one at all: to ignore a condition or a filter would give a wrong answer. */
export function parseQuery(text: string, parameters: readonly string[]): Query {
  const sent = new Map<string, string>()
  for (const parameter of text.split('&')) {
    if (parameter === '') continue
    const [name, value] = splitParameter(parameter)
    if (!parameters.includes(name)) throw unknownParameter(name, parameters)
    if (sent.has(name)) throw invalid(`${name} must be given at most once.`)
    sent.set(name, value)
  }
  return {
    sent,
    get(name, parse) {
      const value = sent.get(name)
      if (value === undefined) return undefined
      const decoded = decode(value)
      if (decoded === undefined) throw invalid(`${name} must be percent-encoded UTF-8.`)
      return parse(decoded)
    },
  }
}

/** Returns the decoded name, and the value as it was sent. */
function splitParameter(parameter: string): [name: string, value: string] {
  const end = parameter.indexOf('=')
  const name = end === -1 ? parameter : parameter.slice(0, end)
  return [decode(name) ?? name, end === -1 ? '' : parameter.slice(end + 1)]
}

const ENCODED = /[%+]/

/** Returns undefined for malformed percent-encoding or UTF-8. Node's parser rejects bytes outside ASCII that are not encoded. */
function decode(text: string): string | undefined {
  // Most names and values are sent as they are.
  if (!ENCODED.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

/** Encodes what must not be in a URL, such as the `>` that would end it in a `Link` header. */
function forLink(value: string): string {
  return value.replace(/["#<>\\^`{|}]/g, encodeURIComponent)
}

function unknownParameter(name: string, parameters: readonly string[]) {
  const shown = JSON.stringify(name.slice(0, MAX_SHOWN_LENGTH))
  return invalid(`The query may contain only ${parameters.join(', ')}, not ${shown}.`)
}

/** The `Link` header of a page, or undefined if there is no other page. The other pages have the same limit and filters. */
export function pageLinks(
  basePath: string,
  { page: { limit }, filters }: ListQuery,
  { previous, next }: JsonPage,
): string | undefined {
  const url = `${basePath}/pets?limit=${limit}${filters}`
  const links: string[] = []
  if (previous !== undefined) links.push(`<${url}&before=${previous}>; rel="prev"`)
  if (next !== undefined) links.push(`<${url}&after=${next}>; rel="next"`)
  return links.length === 0 ? undefined : links.join(', ')
}

function parseInteger(name: string, text: string): bigint {
  const integer = canonicalInteger(text)
  if (integer === undefined) throw invalid(`${name} must be a 64-bit integer in plain decimal digits.`)
  return integer
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
