// CSV as in RFC 4180. csv-parse splits lines into records and fields.

import { CsvError, parse } from 'csv-parse/sync'
import { type Animal, parseNewAnimal } from '../animal.ts'
import { invalid } from '../error.ts'
import { canonicalInteger, exactInteger } from '../json.ts'
import { checkBytes, isBlank, type Reader } from './entry.ts'
import { endOfLine, type Lines, MAX_ENTRY_BYTES } from './lines.ts'

export const CSV_HEADER = 'id,name,categoryId,status\n'

/** A number in JSON: no plus sign, no leading zero. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

export function renderCsvLine({ id, name, categoryId, status }: Animal): string {
  const field = /[",\r\n]|^\s|\s$/.test(name) ? `"${name.replaceAll('"', '""')}"` : name
  return `${id},${field},${categoryId},${status ?? ''}\n`
}

/** The header names the columns, in any order. Columns that an animal does not have are ignored. */
export function csvReader(fromLine: number): Reader {
  let columns: readonly string[] | undefined

  return function* (lines) {
    for (;;) {
      const names = columns
      if (names !== undefined) lines.skipTo(fromLine)
      const records = takeRecords(lines, names === undefined)
      if (records.length === 0) return
      for (const record of records) {
        if (isBlank(record.bytes)) continue
        if (names === undefined) columns = parseHeader(fieldsOf(record))
        else yield { ...record, animal: () => parseNewAnimal(toObject(names, fieldsOf(record))) }
      }
    }
  }
}

interface CsvRecord {
  readonly firstLine: number
  readonly lastLine: number
  readonly bytes: Buffer
  /** Undefined if the record is malformed. */
  readonly fields: readonly string[] | undefined
}

/** Takes one record as the header, or all up to a malformed one. Leaves a record whose end has not been read. */
function takeRecords(lines: Lines, isHeader: boolean): CsvRecord[] {
  const records: CsvRecord[] = []
  const { bytes } = lines
  let start = 0

  function take(end: number, fields?: readonly string[]): void {
    const firstLine = lines.number
    const taken = lines.take(end - start)
    records.push({ firstLine, lastLine: lines.number - 1, bytes: taken, fields })
    start = end
  }

  try {
    parse(bytes, {
      to: isHeader ? 1 : -1,
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      // The line numbers of csv-parse count a carriage return within a field as a line. Its bytes are exact.
      on_record: (fields, info) => void take(info.bytes, fields),
    })
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    // A stray quote spoils its own line only: csv-parse itself would look for the end of the field in later lines.
    if (error.code !== 'CSV_QUOTE_NOT_CLOSED') take(endOfLine(bytes, start))
    else if (lines.isEnded || lines.bytes.length >= MAX_ENTRY_BYTES)
      take(endOfLine(bytes, start + MAX_ENTRY_BYTES - 1))
  }
  return records
}

function fieldsOf({ bytes, fields }: CsvRecord): readonly string[] {
  checkBytes(bytes)
  if (fields === undefined) throw invalid('the line must be well-formed CSV, with quotes in pairs.')
  return fields
}

function parseHeader(columns: readonly string[]): readonly string[] {
  const times = (name: string) => columns.filter(column => column === name).length
  if (times('name') !== 1 || times('categoryId') !== 1 || times('status') > 1) {
    throw invalid(
      'the first line must name the columns, name and categoryId once among them, status at most once.',
    )
  }
  return columns
}

function toObject(columns: readonly string[], fields: readonly string[]): Record<string, unknown> {
  if (fields.length !== columns.length) {
    throw invalid(`the line must have ${columns.length} fields, not ${fields.length}.`)
  }
  const field = (name: string) => fields[columns.indexOf(name)]
  const number = field('categoryId') ?? ''
  return {
    name: field('name'),
    // The canonical spelling is the usual one, and faster to parse.
    categoryId: canonicalInteger(number) ?? (NUMBER.test(number) ? exactInteger(number) : undefined),
    // An empty field is an animal without a status.
    status: field('status') || undefined,
  }
}
