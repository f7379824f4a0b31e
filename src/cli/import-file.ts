// Reads the animals of an imported file, in any format, with their line numbers and in constant memory.

import { isUtf8 } from 'node:buffer'
import { parse as createCsvParser } from 'csv-parse'
import { parse as parseCsv } from 'csv-parse/sync'
import { findProblems, type NewAnimal, parseAnimalJson, parseNewAnimal } from '../animal.ts'
import { CSV_COLUMNS, type Separator } from '../csv.ts'
import { canonicalInteger, isObject, parseNumbersAsText, renderJson } from '../json.ts'
import type { FormatName } from './formats.ts'
import { formatCount } from './messages.ts'

/** Far more than an animal needs. Without a limit, a quote that is never closed would fill the memory. */
const MAX_ENTRY_BYTES = 256 * 1024

const MAX_SHOWN_LENGTH = 40
const MAX_SHOWN_COLUMNS = 10

const LINE_FEED = 0x0a
const BOM = Buffer.from('\ufeff')
/** Excel saves "Unicode Text" in this encoding. */
const UTF16_BOM = Buffer.from('\ufeff', 'utf16le')
const NONE: Buffer = Buffer.alloc(0)

/** A carriage return alone is none: csv-parse would take it for one if the first line had it. */
const LINE_ENDS = ['\r\n', '\n']

/** One animal: a line or, in CSV, several lines. */
export interface Entry {
  readonly firstLine: number
  readonly lastLine: number
  /** Throws an InvalidEntry. */
  animal(): NewAnimal
}

/** An entry that is not a valid animal. */
export class InvalidEntry extends Error {}

/** The file cannot be read on after this line. */
export class InvalidFile extends Error {}

/**
 * Yields the entries as they are read, from this line on. Without a format, the first character that is not white space
 * decides. Throws an InvalidFile.
 */
export async function* readEntries(
  source: AsyncIterable<Buffer>,
  format: FormatName | undefined,
  fromLine: number,
  say: (text: string) => void = () => {},
): AsyncGenerator<Entry[]> {
  const lines = new Lines(source)
  await lines.read()
  if ((format ?? lines.guessFormat()) === 'jsonl') {
    await lines.skipTo(fromLine)
    yield* readJsonLines(lines)
  } else {
    const header = await readCsvHeader(lines, format === 'tsv' ? '\t' : undefined)
    if (header.ignored.length > 0) say(`Ignored columns: ${header.ignored.join(', ')}.`)
    await lines.skipTo(fromLine)
    yield* readCsv(lines, header)
  }
}

/** The lines of a stream, each with its line feed. */
class Lines {
  /** The number of the next line. */
  number = 1
  #bytes = NONE
  #isEnded = false
  readonly #source: AsyncIterator<Buffer>

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** Reads on until a line is complete. Returns false at the end of the file. */
  async read(): Promise<boolean> {
    while (!this.#isEnded && !this.#bytes.includes(LINE_FEED)) {
      if (this.#bytes.length >= MAX_ENTRY_BYTES) throw new InvalidFile(`Line ${this.number}: ${TOO_LONG}`)
      const { done, value } = await this.#source.next()
      this.#isEnded = done === true
      if (!this.#isEnded) this.#bytes = Buffer.concat([this.#bytes, value])
    }
    if (this.number === 1 && this.#bytes.indexOf(BOM) === 0) this.#bytes = this.#bytes.subarray(BOM.length)
    if (this.number === 1 && this.#bytes.indexOf(UTF16_BOM) === 0)
      throw new InvalidFile(`Line 1: ${NOT_UTF8}`)
    return this.#bytes.length > 0
  }

  /** Takes the next line, or undefined if it is not complete. */
  take(): Buffer | undefined {
    const end = this.#bytes.indexOf(LINE_FEED) + 1 || (this.#isEnded ? this.#bytes.length : 0)
    if (end === 0) return undefined
    const line = this.#bytes.subarray(0, end)
    this.#bytes = this.#bytes.subarray(end)
    this.number++
    return line
  }

  /** Throws an InvalidFile if the file ends before the line. */
  async skipTo(number: number): Promise<void> {
    while (this.number < number && (await this.read())) while (this.number < number && this.take());
    if (number > 1 && this.number <= number && !(await this.read()))
      throw new InvalidFile(
        `--from-line ${number} is beyond the file, which has ${formatCount(this.number - 1, 'line')}.`,
      )
  }

  /** Yields what has not been taken, as it was read. */
  async *rest(): AsyncGenerator<Buffer> {
    yield this.#bytes
    for (let next = await this.#source.next(); !next.done; next = await this.#source.next()) yield next.value
  }

  guessFormat(): FormatName {
    const isJson = /^\s*[{[]/.test(this.#bytes.toString('latin1'))
    return isJson || this.#bytes.length === 0 ? 'jsonl' : 'csv'
  }
}

const TOO_LONG = `the entry must be shorter than ${MAX_ENTRY_BYTES / 1024} KiB.`
const NOT_UTF8 = 'the line must be UTF-8; spreadsheets call that format "CSV UTF-8" or "Unicode (UTF-8)".'
const UNCLOSED = `a quote is not closed, or ${TOO_LONG}`
const MALFORMED_CSV = 'the line must be well-formed CSV, with quotes in pairs.'

async function* readJsonLines(lines: Lines): AsyncGenerator<Entry[]> {
  while (await lines.read()) {
    const entries: Entry[] = []
    for (let line = lines.take(); line !== undefined; line = lines.take()) {
      const bytes = line
      const number = lines.number - 1
      if (!isBlank(bytes.toString('latin1')))
        entries.push({ firstLine: number, lastLine: number, animal: () => parseJsonLine(bytes) })
    }
    yield entries
  }
}

function parseJsonLine(line: Buffer): NewAnimal {
  if (!isUtf8(line)) throw new InvalidEntry(NOT_UTF8)
  const text = line.toString()
  if (/^\s*\[/.test(text)) {
    throw new InvalidEntry(
      "the file must not be a JSON array: write one animal per line, for example with jq -c '.[]'.",
    )
  }
  let animal: unknown
  try {
    animal = parseAnimalJson(text)
  } catch {
    // Reported below.
  }
  if (!isObject(animal)) throw new InvalidEntry('the line must be a JSON object.')
  return toAnimal(animal, member => {
    const value = animal[member]
    if (member === 'categoryId' && typeof value === 'string')
      return `${shorten(renderJson(value))}, which is a string`
    if (typeof value !== 'number') return shorten(renderJson(value))
    // With the digits that are in the file.
    const numbers = parseNumbersAsText(text) as Record<string, string>
    return shorten(String(numbers[member]))
  })
}

/** `show` returns a member as it is in the file. */
function toAnimal(animal: Record<string, unknown>, show: (member: string) => string): NewAnimal {
  const problems = findProblems(animal)
  if (problems.length === 0) return parseNewAnimal(animal)
  const described = problems.map(({ member, problem }) =>
    // The message about null says so itself.
    [undefined, null].includes(animal[member] as null) ? problem : `${problem} (found ${show(member)})`,
  )
  throw new InvalidEntry(`${described.join('; ')}.`)
}

function shorten(text: string): string {
  const characters = [...text]
  return characters.length > MAX_SHOWN_LENGTH ? `${characters.slice(0, MAX_SHOWN_LENGTH).join('')}…` : text
}

function isBlank(text: string): boolean {
  return /^[ \t\r\n]*$/.test(text)
}

interface CsvHeader {
  readonly separator: Separator
  /** How many columns there are, and where those of an animal are. The position of the status is -1 if there is none. */
  readonly count: number
  readonly name: number
  readonly categoryId: number
  readonly status: number
  /** Columns that an animal does not have, for a message. */
  readonly ignored: readonly string[]
}

/** The columns of an export. Those without a name are empty columns of a spreadsheet. */
const KNOWN: readonly string[] = [...CSV_COLUMNS.map(name => name.toLowerCase()), '']

/** Spreadsheets may write this line before the header. */
const SEPARATOR_LINE = /^"?sep=([,;\t])"?\s*$/i

/** Takes the lines up to and including the header. */
async function readCsvHeader(lines: Lines, given: Separator | undefined): Promise<CsvHeader> {
  let separator = given
  while (await lines.read()) {
    const line = (lines.take() ?? NONE).toString()
    const [, named] = SEPARATOR_LINE.exec(line) ?? []
    if (isBlank(line)) continue
    if (named === undefined) return parseCsvHeader(line, separator ?? guessSeparator(line))
    separator ??= named as Separator
  }
  throw new InvalidFile('The file is empty: its first line must name the columns.')
}

function guessSeparator(line: string): Separator {
  const count = (separator: Separator) => line.split(separator).length
  const separators: readonly Separator[] = [',', ';', '\t']
  return separators.reduce((best, other) => (count(other) > count(best) ? other : best))
}

/** Takes names in any letter case, with spaces, hyphens and underscores: `Category ID` is `categoryId`. */
function parseCsvHeader(line: string, separator: Separator): CsvHeader {
  let header: string[]
  try {
    header = parseCsv(line, { delimiter: separator, record_delimiter: LINE_ENDS })[0] ?? []
  } catch {
    throw new InvalidFile(`The header is invalid: ${MALFORMED_CSV}`)
  }
  const names = header.map(name => name.toLowerCase().replaceAll(/[\s_-]/g, ''))
  const times = (wanted: string) => names.filter(name => name === wanted).length
  if (times('name') !== 1 || times('categoryid') !== 1 || times('status') > 1) {
    const found = header.slice(0, MAX_SHOWN_COLUMNS).map(name => JSON.stringify(shorten(name)))
    throw new InvalidFile(
      `The header is invalid: the first line must name the columns: name and categoryId once each, status at most once. It has ${found.join(', ')}${header.length > found.length ? ', …' : ''}.`,
    )
  }
  return {
    separator,
    count: names.length,
    name: names.indexOf('name'),
    categoryId: names.indexOf('categoryid'),
    status: names.indexOf('status'),
    ignored: header.flatMap((name, at) =>
      KNOWN.includes(names[at] ?? '') ? [] : [JSON.stringify(shorten(name))],
    ),
  }
}

/**
 * Columns that an animal does not have are ignored, and so are rows without any value, which spreadsheets may write at
 * the end.
 */
async function* readCsv(lines: Lines, header: CsvHeader): AsyncGenerator<Entry[]> {
  let entries: Entry[] = []
  /** The first line of a malformed record. */
  let malformedFrom: number | undefined
  /** What follows the last record, and where it starts. csv-parse counts lines in another way, but its bytes are exact. */
  let rest = NONE
  let position = 0

  function endMalformed(lastLine: number): void {
    if (malformedFrom === undefined) return
    entries.push({ firstLine: malformedFrom, lastLine, animal: rejectMalformed })
    malformedFrom = undefined
  }

  const parser = createCsvParser({
    delimiter: header.separator,
    record_delimiter: LINE_ENDS,
    relax_column_count: true,
    max_record_size: MAX_ENTRY_BYTES,
    // One character for each byte, so that a field that is not UTF-8 is not changed before it is checked.
    encoding: 'latin1',
    skip_records_with_error: true,
    on_skip(error) {
      // csv-parse cannot go on after a record that is too long.
      if (error?.code === 'CSV_MAX_RECORD_SIZE')
        throw new InvalidFile(
          `Line ${lines.number}: ${malformedFrom === undefined ? UNCLOSED : MALFORMED_CSV}`,
        )
      malformedFrom ??= lines.number
    },
    on_record(fields: string[], { bytes }) {
      const lastLine = lines.number + countLines(rest.subarray(0, bytes - position)) - 1
      rest = rest.subarray(bytes - position)
      position = bytes
      const firstLine = lastLine - fields.join().split('\n').length + 1
      // csv-parse goes on after a malformed record until its quotes are in pairs again.
      endMalformed(firstLine - 1)
      lines.number = lastLine + 1
      if (!fields.every(isBlank))
        entries.push({ firstLine, lastLine, animal: () => parseFields(fields, header) })
    },
  })
  const failed = new Promise<never>((_, reject) => parser.on('error', reject))
  for await (const chunk of lines.rest()) {
    rest = Buffer.concat([rest, chunk])
    await Promise.race([failed, new Promise(resolve => parser.write(chunk, resolve))])
    yield entries
    entries = []
  }
  await Promise.race([failed, new Promise<void>(resolve => parser.end(resolve))])
  endMalformed(lines.number + countLines(rest) - 1)
  yield entries
}

function rejectMalformed(): never {
  throw new InvalidEntry(MALFORMED_CSV)
}

/** The last line may have no line feed. */
function countLines(bytes: Buffer): number {
  let count = bytes.length > 0 && bytes.at(-1) !== LINE_FEED ? 1 : 0
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) count++
  return count
}

function parseFields(encoded: readonly string[], header: CsvHeader): NewAnimal {
  const fields = encoded.map(decode)
  if (fields.length !== header.count)
    throw new InvalidEntry(`the line must have ${header.count} fields, not ${fields.length}.`)
  const [name, categoryId = '', status] = [header.name, header.categoryId, header.status].map(
    at => fields[at],
  )
  // An empty field is an animal without a status.
  const texts: Record<string, string | undefined> = { name, categoryId, status: status || undefined }
  return toAnimal(
    { ...texts, categoryId: canonicalInteger(categoryId) ?? (categoryId || undefined) },
    member => {
      const text = texts[member] ?? ''
      return JSON.stringify(shorten(text)) + (member === 'categoryId' ? describeNumber(text) : '')
    },
  )
}

function decode(field: string): string {
  if (!/[^\0-\x7f]/.test(field)) return field
  const bytes = Buffer.from(field, 'latin1')
  if (!isUtf8(bytes)) throw new InvalidEntry(NOT_UTF8)
  return bytes.toString()
}

/** Why a text is not the number that it seems to be. A spreadsheet may have changed it. */
const NUMBER_PROBLEMS: readonly (readonly [RegExp, string])[] = [
  [/^\s|\s$/, 'spaces around the digits'],
  [/^[+-]?\d{1,3}([.,'’\s]\d{3})+$/, 'a thousands separator'],
  [
    /^-?\d+([.,]\d+)?e[+-]?\d+$/i,
    'an exponent and may have lost digits: format the column as a whole number in the spreadsheet, and save it again',
  ],
  [/^[+-]?\d+[.,]\d*$/, 'a fraction'],
  [/^\+/, 'a plus sign'],
  [/^-?0\d/, 'a leading zero'],
]

function describeNumber(text: string): string {
  const problem = NUMBER_PROBLEMS.find(([pattern]) => pattern.test(text))?.[1]
  return problem === undefined ? '' : `, which has ${problem}`
}
