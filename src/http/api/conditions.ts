// The conditions of a request: If-Match and If-None-Match (RFC 9110, section 13), and the parameter ifStatus.

import { STATUS_NAMES, type StatusName } from '../../animal.ts'
import { invalid } from '../../error.ts'
import { TAG_DIGITS } from '../../etag.ts'
import type { Conditions } from '../../write.ts'
import type { Exchange } from '../server/exchange.ts'
import { joinedHeader } from '../server/request.ts'
import { parseQuery } from './parameters.ts'

const ENTITY_TAG = '(?:W/)?"[\\x21\\x23-\\x7e\\x80-\\xff]*"'

/** Elements of a list may be empty. */
const LIST = `[ \\t,]*${ENTITY_TAG}(?:[ \\t]*,[ \\t,]*${ENTITY_TAG})*[ \\t,]*`

export const TAGS_PATTERN = `^(?:\\*|${LIST})$`

const tagsPattern = new RegExp(TAGS_PATTERN)

const EACH_TAG = new RegExp(ENTITY_TAG, 'g')

/** A strong tag that an animal may have. */
const OWN_TAG = new RegExp(`^"([0-9a-f]{${TAG_DIGITS}})"$`)

interface RequestConditions {
  readonly conditions: Conditions
  /** The same as they were sent, but for the order, for the digest of the request. */
  readonly sent: Readonly<Record<string, unknown>>
}

/** Parses the conditions of a change or a removal. Throws `invalid_request` for a malformed one, and for any other parameter. */
export function parseConditions(request: Exchange['request'], query: string): RequestConditions {
  const ifMatch = requireTags(request, 'If-Match')
  const sentNoneMatch = requireTags(request, 'If-None-Match')
  // It compares weakly (RFC 9110, section 13.1.2).
  const ifNoneMatch =
    sentNoneMatch === '*' ? '*' : sentNoneMatch && uniqueSorted(sentNoneMatch.map(withoutWeakness))
  const ifStatus = parseQuery(query, ['ifStatus']).get('ifStatus', parseStatusName)
  return {
    conditions: {
      // `*` asks for an animal that exists, which is asked for anyway.
      ifMatch: ifMatch === '*' ? undefined : ifMatch?.flatMap(ownTag),
      ifNoneMatch: ifNoneMatch === '*' ? '*' : ifNoneMatch?.flatMap(ownTag),
      ifStatus,
    },
    sent: { ifMatch, ifNoneMatch, ifStatus },
  }
}

/** Returns whether a read need not be answered in full. A malformed header is ignored. */
export function isUnchanged(request: Exchange['request'], tag: string): boolean {
  const tags = parseTags(joinedHeader(request, 'if-none-match') ?? '')
  return tags === '*' || tags?.map(withoutWeakness).flatMap(ownTag).includes(tag) === true
}

function requireTags(request: Exchange['request'], name: string): readonly string[] | '*' | undefined {
  const value = joinedHeader(request, name.toLowerCase())
  if (value === undefined) return undefined
  const tags = parseTags(value)
  if (tags === undefined)
    throw invalid(`${name} must be * or a list of entity tags, such as "${'0'.repeat(TAG_DIGITS)}".`)
  return tags
}

/** Returns the tags as they were sent, each once and in a fixed order. Undefined if the value is malformed. */
function parseTags(value: string): readonly string[] | '*' | undefined {
  if (!tagsPattern.test(value)) return undefined
  if (value === '*') return '*'
  return uniqueSorted(value.match(EACH_TAG) ?? [])
}

/** Returns the tags each once and in a fixed order. */
function uniqueSorted(tags: readonly string[]): string[] {
  return [...new Set(tags)].toSorted()
}

function withoutWeakness(tag: string): string {
  return tag.replace(/^W\//, '')
}

function ownTag(tag: string): readonly string[] {
  return OWN_TAG.exec(tag)?.slice(1) ?? []
}

function parseStatusName(text: string): StatusName {
  const found = STATUS_NAMES.find(name => name === text)
  if (found === undefined) throw invalid(`ifStatus must be one of ${STATUS_NAMES.join(', ')}.`)
  return found
}
