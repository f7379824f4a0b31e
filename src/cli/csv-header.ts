// The header of a CSV file, as spreadsheets write it: the separator of its fields, and the names of its columns.

import { invalid } from '../error.ts'
import { isBlank } from './import-entry.ts'
import { endOfLine, type Lines } from './import-lines.ts'

export type Separator = ',' | ';' | '\t'

/** The columns of an animal. The position of the status is -1 if the file has none. */
export interface Columns {
  readonly count: number
  readonly name: number
  readonly categoryId: number
  readonly status: number
}

/** Spreadsheets may write this line before the header. */
const SEPARATOR_LINE = /^"?sep=([,;\t])"?\s*$/i

/**
 * Reads the separator from a `sep=` line, and takes that line. If there is none, finds the separator in the header,
 * which stays. Returns undefined if no line is complete.
 */
export function takeSeparator(lines: Lines): Separator | undefined {
  while (lines.bytes.length > 0 && isBlank(firstLine(lines))) lines.takeOne()
  if (lines.bytes.length === 0) return undefined
  const line = firstLine(lines).toString('latin1')
  const named = SEPARATOR_LINE.exec(line)?.[1]
  if (named !== undefined) {
    lines.takeOne()
    return named as Separator
  }
  const count = (separator: Separator) => line.split(separator).length
  const separators: readonly Separator[] = [',', ';', '\t']
  return separators.reduce((best, other) => (count(other) > count(best) ? other : best))
}

function firstLine({ bytes }: Lines): Buffer {
  return bytes.subarray(0, endOfLine(bytes, 0))
}

/** Takes names in any letter case, with spaces, hyphens and underscores: `Category ID` is `categoryId`. */
export function findColumns(header: readonly string[]): Columns {
  const names = header.map(name => name.toLowerCase().replaceAll(/[\s_-]/g, ''))
  const times = (wanted: string) => names.filter(name => name === wanted).length
  if (times('name') !== 1 || times('categoryid') !== 1 || times('status') > 1) {
    const found = header.map(name => JSON.stringify(name.slice(0, 40))).slice(0, 10)
    throw invalid(
      `the first line must name the columns: name and categoryId once each, status at most once. It has ${found.join(', ')}${header.length > found.length ? ', …' : ''}.`,
    )
  }
  return {
    count: names.length,
    name: names.indexOf('name'),
    categoryId: names.indexOf('categoryid'),
    status: names.indexOf('status'),
  }
}
