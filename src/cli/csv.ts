// CSV as in RFC 4180 and as spreadsheets write it. csv-parse splits lines into records and fields.

import { CsvError, parse } from 'csv-parse/sync'
import { type Animal, parseNewAnimal } from '../animal.ts'
import { invalid } from '../error.ts'
import { canonicalInteger, exactInteger } from '../json.ts'
import { type Columns, findColumns, type Separator, takeSeparator } from './csv-header.ts'
import { checkBytes, isBlank, type Reader } from './import-entry.ts'
import { endOfLine, type Lines, MAX_ENTRY_BYTES } from './import-lines.ts'

export const CSV_HEADER = 'id,name,categoryId,status\n'

const QUOTE = 0x22
const LINE_FEED = 0x0a

/** A number in JSON without an exponent: no plus sign, no leading zero. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/

export function renderCsvLine({ id, name, categoryId, status }: Animal): string {
  const field = /[",\r\n]|^\s|\s$/.test(name) ? `"${name.replaceAll('"', '""')}"` : name
  return `${id},${field},${categoryId},${status ?? ''}\n`
}

/** What a spreadsheet takes for the start of a formula. */
const FORMULA = /^[=+\-@\t\r]/

/** A spreadsheet shows a field that starts with an apostrophe as text, and does not run it as a formula. */
export function renderSpreadsheetSafeLine(animal: Animal): string {
  return renderCsvLine(FORMULA.test(animal.name) ? { ...animal, name: `'${animal.name}` } : animal)
}

/** How a spreadsheet shows a number that is too long for its column. Saving the file drops the digits not shown. */
const SCIENTIFIC = /^\s*-?\d+(?:[.,]\d+)?[eE][+-]?\d+\s*$/

/**
 * The header names the columns, in any order. Columns that an animal does not have are ignored, and so are rows without
 * any value, which spreadsheets may write at the end.
 */
export function csvReader(fromLine: number): Reader {
  let separator: Separator | undefined
  let columns: Columns | undefined
  /** How many of the bytes have been searched for the end of an open quote. */
  let searched = 0

  return function* (lines) {
    for (;;) {
      const names = columns
      if (names !== undefined) lines.skipTo(fromLine)
      separator ??= takeSeparator(lines)
      if (separator === undefined) return
      if (searched > 0 && !isWorthParsing(lines, searched)) {
        searched = lines.bytes.length
        return
      }
      const records = takeRecords(lines, separator, names === undefined)
      searched = records.length === 0 ? lines.bytes.length : 0
      if (records.length === 0) return
      for (const record of records) {
        if (isBlank(record.bytes) || record.fields?.every(isEmpty)) continue
        if (names === undefined) columns = findColumns(fieldsOf(record))
        else yield { ...record, animal: () => parseNewAnimal(toObject(names, fieldsOf(record))) }
      }
    }
  }
}

/** Parsing again after every chunk would take quadratic time while a quote is open. */
function isWorthParsing(lines: Lines, searched: number): boolean {
  return lines.isEnded || isTooLong(lines) || lines.bytes.includes(QUOTE, searched)
}

function isTooLong({ bytes }: Lines): boolean {
  return bytes.length >= MAX_ENTRY_BYTES
}

interface CsvRecord {
  readonly firstLine: number
  readonly lastLine: number
  readonly bytes: Buffer
  /** Undefined if the record is malformed. */
  readonly fields: readonly string[] | undefined
}

/**
 * Takes the header record, or all records up to and including the first malformed one. Leaves an incomplete record in
 * `lines`.
 */
function takeRecords(lines: Lines, separator: Separator, isHeader: boolean): CsvRecord[] {
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
      delimiter: separator,
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      // The line numbers of csv-parse count a carriage return within a field as a line. Its byte offsets are exact.
      on_record: (fields, info) => void take(info.bytes, fields),
    })
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const end = endOfRecord(bytes, start, separator)
    if (end !== undefined) take(end)
    else if (lines.isEnded || isTooLong(lines)) take(endOfLine(bytes, start + MAX_ENTRY_BYTES - 1))
  }
  return records
}

/** Returns the end of a malformed record, which csv-parse does not report. Undefined if a quote in it is not closed. */
function endOfRecord(bytes: Buffer, start: number, separator: Separator): number | undefined {
  let state = 'start' as 'start' | 'plain' | 'quoted' | 'closed'
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at]
    if (state === 'quoted') state = byte === QUOTE ? 'closed' : 'quoted'
    else if (byte === LINE_FEED) return at + 1
    else if (byte === separator.charCodeAt(0)) state = 'start'
    // A quote opens a field only at its start. Directly after a closing quote, it is an escaped quote within the field.
    else state = byte === QUOTE && state !== 'plain' ? 'quoted' : 'plain'
  }
  return undefined
}

function fieldsOf({ bytes, fields }: CsvRecord): readonly string[] {
  checkBytes(bytes)
  if (fields === undefined) throw invalid('the line must be well-formed CSV, with quotes in pairs.')
  return fields
}

function isEmpty(field: string): boolean {
  return field === ''
}

function toObject(columns: Columns, fields: readonly string[]): Record<string, unknown> {
  if (fields.length !== columns.count) {
    throw invalid(`the line must have ${columns.count} fields, not ${fields.length}.`)
  }
  const number = fields[columns.categoryId] ?? ''
  if (SCIENTIFIC.test(number)) {
    throw invalid(
      `categoryId ${JSON.stringify(number)} has lost digits in a spreadsheet: format the column as a whole number there, and save it again.`,
    )
  }
  return {
    name: fields[columns.name],
    // The canonical spelling is the usual one, and faster to parse.
    categoryId:
      canonicalInteger(number) ?? (NUMBER.test(number) ? exactInteger(number) : undefined) ?? number,
    // An empty field is an animal without a status.
    status: fields[columns.status] || undefined,
  }
}
