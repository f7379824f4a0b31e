// Reads the rows of an imported file, in any format, with their line numbers and in constant memory.

import { isUtf8 } from 'node:buffer'
import { parseAnimalJson } from '../../animal-json.ts'
import type { Separator } from '../../csv.ts'
import { canonicalInteger } from '../../int64.ts'
import { isObject, parseNumbersAsText } from '../../json.ts'
import { formatCount } from '../../number-format.ts'
import type { FormatName } from '../formats.ts'

/** Far more than an animal needs. Without a limit, a quote that is never closed would fill the memory. */
const MAX_ENTRY_BYTES = 256 * 1024

/** What is read from a file. Other columns and members are ignored, and named in a message. */
interface Columns {
  readonly names: readonly string[]
  /** Columns that CSV must have. */
  readonly required: readonly string[]
  /** CSV must have at least one of these. */
  readonly oneOf?: readonly string[]
  /** Both rules in words, for the message. */
  readonly rule: string
}

export const NEW_ANIMALS: Columns = {
  names: ['name', 'categoryId', 'status'],
  required: ['name', 'categoryId'],
  rule: 'name and categoryId once each, status at most once',
}

export const CHANGED_ANIMALS: Columns = {
  names: ['id', 'name', 'categoryId', 'status', 'etag'],
  required: ['id'],
  oneOf: ['name', 'categoryId', 'status'],
  rule: 'id once, one or more of name, categoryId and status, and with export --etags also etag, each at most once',
}

const MAX_SHOWN_LENGTH = 40
const MAX_SHOWN_COLUMNS = 10

const LINE_FEED = 0x0a

const TOO_LONG = `the entry must be shorter than ${MAX_ENTRY_BYTES / 1024} KiB.`
const UTF8_IN_SPREADSHEETS = 'spreadsheets call that format "CSV UTF-8" or "Unicode (UTF-8)".'
const NOT_UTF8 = `the line must be UTF-8; ${UTF8_IN_SPREADSHEETS}`
const UTF16 = `The file is UTF-16, but it must be UTF-8; ${UTF8_IN_SPREADSHEETS}`
const LONE_RETURN =
  'the line has a carriage return, outside quotes, that no line feed follows: save the file with the line ends of Windows or Unix.'
const UNCLOSED = `a quote is not closed, or ${TOO_LONG}`
const MALFORMED_CSV = 'the line must be well-formed CSV, with quotes in pairs.'

/** What a file has of an animal, not checked yet. */
export interface Row {
  readonly isCsv: boolean
  /**
   * An integer is a bigint if it is an int64. An empty cell of CSV is undefined, except for a name. Without its column, a member is
   * absent.
   */
  readonly members: Record<string, unknown>
  /** Returns a member as it is in the file. */
  readonly show: (member: string) => string
}

/** One row: a line or, in CSV, several lines. */
export interface Entry {
  readonly firstLine: number
  readonly lastLine: number
  /** Throws an InvalidEntry if it is malformed. */
  row(): Row
}

/** An entry that is malformed, or whose values are not valid. */
export class InvalidEntry extends Error {}

/** The file cannot be read on after this line. */
export class InvalidFile extends Error {}

/** The file ends before the line to start at. */
export class BeyondFile extends InvalidFile {}

/** One or several lines, with their line feeds. */
interface Lines {
  readonly firstLine: number
  readonly lastLine: number
  readonly text: string
  /** False if characters were lost because the lines are not UTF-8. */
  readonly isUtf8: boolean
}

/**
 * Yields the entries as they are read, from this line on. Without a format, the first character that is not white space
 * decides. Throws an InvalidFile.
 */
export async function* readEntries(
  source: AsyncIterable<Buffer>,
  columns: Columns,
  format: FormatName | undefined,
  fromLine: number,
  say: (text: string) => void = () => {},
): AsyncGenerator<Entry> {
  let isJson = format === undefined ? undefined : format === 'jsonl'
  let separator: Separator | undefined = format === 'tsv' ? '\t' : undefined
  let header: CsvHeader | undefined
  /** A CSV record that continues on the next line. */
  let unclosed: Lines | undefined
  let lineCount = 0
  const ignoredMembers = new Set<string>()

  function parseAndAnnounce(line: Lines): Row {
    const row = parseJsonLine(line)
    for (const member of Object.keys(row.members)) {
      if (columns.names.includes(member) || ignoredMembers.has(member)) continue
      if (ignoredMembers.size >= MAX_SHOWN_COLUMNS) break
      ignoredMembers.add(member)
      say(
        member === 'id'
          ? leftOut('member', `, from line ${line.firstLine} on`)
          : `Ignored member, from line ${line.firstLine} on: ${JSON.stringify(shorten(member))}.`,
      )
    }
    return row
  }

  for await (const line of readLines(source)) {
    lineCount = line.lastLine
    if (unclosed === undefined && isBlank(line.text)) continue
    isJson ??= /^\s*[{[]/.test(line.text)
    if (isJson) {
      if (lineCount >= fromLine)
        yield { firstLine: lineCount, lastLine: lineCount, row: () => parseAndAnnounce(line) }
    } else if (header === undefined) {
      const named = SEPARATOR_LINE.exec(line.text)?.[1] as Separator | undefined
      separator ??= named ?? guessSeparator(line.text)
      if (named !== undefined) continue
      header = parseCsvHeader(line, separator, columns)
      if (header.hasOtherId) say(leftOut('column'))
      if (header.ignored.length > 0) say(`Ignored columns: ${header.ignored.join(', ')}.`)
    } else if (lineCount >= fromLine) {
      const record = unclosed === undefined ? line : append(unclosed, line)
      // Only a line with an odd number of quotes can end a field that began on an earlier line.
      const isOpen = unclosed !== undefined && line.text.split('"').length % 2 === 1
      const fields = isOpen ? 'unclosed' : parseRecord(record.text, header.separator)
      unclosed = fields === 'unclosed' ? record : undefined
      // Spreadsheets may write rows without any value at the end.
      if (fields !== 'unclosed' && !fields?.every(isBlank)) yield toEntry(record, fields, header)
    }
  }
  if (unclosed !== undefined && header !== undefined) yield toEntry(unclosed, undefined, header)
  if (isJson === false && header === undefined)
    throw new InvalidFile('The file is empty: its first line must name the columns.')
  if (fromLine > Math.max(lineCount, 1))
    throw new BeyondFile(
      `--from-line ${fromLine} is beyond the file, which has ${formatCount(lineCount, 'line')}.`,
    )
}

async function* readLines(source: AsyncIterable<Buffer>): AsyncGenerator<Lines> {
  let number = 0
  let rest: Buffer = Buffer.alloc(0)

  function take(bytes: Buffer): Lines {
    number++
    // `toString` keeps the byte order mark that spreadsheets write.
    if (number === 1 && isUtf16(bytes)) throw new InvalidFile(UTF16)
    const text = number === 1 ? bytes.toString().replace(/^\ufeff/, '') : bytes.toString()
    return { firstLine: number, lastLine: number, text, isUtf8: isUtf8(bytes) }
  }

  for await (const chunk of source) {
    rest = Buffer.concat([rest, chunk])
    for (let end = rest.indexOf(LINE_FEED); end !== -1; end = rest.indexOf(LINE_FEED)) {
      yield take(rest.subarray(0, end + 1))
      rest = rest.subarray(end + 1)
    }
    if (rest.length > MAX_ENTRY_BYTES)
      throw new InvalidFile(`Line ${number + 1}: ${hasLoneReturn(rest.toString()) ? LONE_RETURN : TOO_LONG}`)
  }
  if (rest.length > 0) yield take(rest)
}

/** A byte order mark, or a character of ASCII in two bytes. */
function isUtf16([first, second]: Buffer): boolean {
  return (
    first === 0 || second === 0 || (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
  )
}

/** A line with its end, or a field. */
function isBlank(text: string): boolean {
  return /^[ \t]*(?:\r?\n)?$/.test(text)
}

/** An export that is imported adds every animal once more, which may not be what was meant. */
function leftOut(what: string, where = ''): string {
  return `The ${what} "id" is left out${where}: every row becomes a new animal with a new id. To change animals, use import --update; to keep the ids, use copy.`
}

function parseJsonLine({ firstLine, text, isUtf8 }: Lines): Row {
  if (!isUtf8) throw new InvalidEntry(NOT_UTF8)
  if (/^\s*\[/.test(text)) {
    throw new InvalidEntry(
      "the file must not be a JSON array: write one animal per line, for example with jq -c '.[]'.",
    )
  }
  let members: unknown
  try {
    members = parseAnimalJson(text)
  } catch {
    // Reported below.
  }
  if (isObject(members)) {
    const found = members
    return {
      isCsv: false,
      members: found,
      show: member => shorten(describeMember(found[member], member, text)),
    }
  }
  // Several objects, as it seems.
  if (/}[ \t]*\r\s*{/.test(text)) throw new InvalidFile(`Line ${firstLine}: ${LONE_RETURN}`)
  throw new InvalidEntry('the line must be a JSON object.')
}

/** Returns what the JSON has for this member. An array or an object may be nested too deeply to be rendered. */
function describeMember(value: unknown, member: string, json: string): string {
  if (Array.isArray(value)) return 'an array'
  if (isObject(value)) return 'an object'
  if (typeof value === 'string')
    return `${INTEGERS.includes(member) ? 'the string ' : ''}${JSON.stringify(value)}`
  // With the digits that are in the file.
  if (typeof value === 'number') return (parseNumbersAsText(json) as Record<string, string>)[member] ?? ''
  return String(value)
}

interface MemberProblem {
  readonly member: string
  /** Starts with the name of the member. */
  readonly problem: string
}

/** Throws an InvalidEntry with all problems, if there are any. */
export function rejectProblems(problems: readonly MemberProblem[], { members, show }: Row): void {
  if (problems.length === 0) return
  const texts = problems.map(({ member, problem }) =>
    // The message about null says so itself.
    [undefined, null].includes(members[member] as null) ? problem : `${problem} (found ${show(member)})`,
  )
  throw new InvalidEntry(`${texts.join('; ')}.`)
}

function shorten(text: string): string {
  const characters = [...text]
  return characters.length > MAX_SHOWN_LENGTH ? `${characters.slice(0, MAX_SHOWN_LENGTH).join('')}…` : text
}

interface CsvHeader {
  readonly separator: Separator
  /** How many columns there are. */
  readonly count: number
  /** The members that are read, and the positions of their columns. */
  readonly positions: readonly (readonly [member: string, position: number])[]
  readonly hasOtherId: boolean
  /** Columns that are not read, for a message. */
  readonly ignored: readonly string[]
}

/** Spreadsheets may write this line before the header. */
const SEPARATOR_LINE = /^"?sep=([,;\t])"?\s*$/i

function guessSeparator(line: string): Separator {
  const count = (separator: Separator) => line.split(separator).length
  const separators: readonly Separator[] = [',', ';', '\t']
  return separators.reduce((best, other) => (count(other) > count(best) ? other : best))
}

/** Takes names in any letter case, with spaces, hyphens and underscores: `Category ID` is `categoryId`. */
function parseCsvHeader(
  { firstLine, text, isUtf8 }: Lines,
  separator: Separator,
  { names: wanted, required, oneOf = required, rule }: Columns,
): CsvHeader {
  if (!isUtf8) throw new InvalidFile(`Line ${firstLine}: ${NOT_UTF8}`)
  const header = parseRecord(text, separator)
  if (hasLoneReturn(text)) throw new InvalidFile(`Line ${firstLine}: ${LONE_RETURN}`)
  if (!Array.isArray(header)) throw new InvalidFile(`The header is invalid: ${MALFORMED_CSV}`)
  if (separator === '\t' && header.length === 1 && /[,;]/.test(text))
    throw new InvalidFile(
      'The header is invalid: the columns of TSV are separated by tabs. If the file has commas or semicolons, its format is csv: change its ending, or --format.',
    )
  const names = header.map(name => name.toLowerCase().replaceAll(/[\s_-]/g, ''))
  const at = (member: string) => names.indexOf(member.toLowerCase())
  const isTwice = (member: string) => names.lastIndexOf(member.toLowerCase()) !== at(member)
  const isThere = (member: string) => at(member) !== -1
  if (wanted.some(isTwice) || !required.every(isThere) || !oneOf.some(isThere)) {
    const found = header.slice(0, MAX_SHOWN_COLUMNS).map(name => JSON.stringify(shorten(name)))
    throw new InvalidFile(
      `The header is invalid: the first line must name the columns: ${rule}. It has ${found.join(', ')}${header.length > found.length ? ', …' : ''}.`,
    )
  }
  // Those without a name are empty columns of a spreadsheet.
  const known = [...wanted.map(name => name.toLowerCase()), 'id', '']
  return {
    separator,
    count: names.length,
    positions: wanted.filter(isThere).map(member => [member, at(member)]),
    hasOtherId: isThere('id') && !wanted.includes('id'),
    ignored: header
      .filter((_, index) => !known.includes(names[index] ?? ''))
      .map(name => JSON.stringify(shorten(name))),
  }
}

/**
 * One field and what follows it. Only a quoted one may have a carriage return. Without the closing quote, a quoted field
 * continues on the next line.
 */
const FIELDS: Readonly<Record<Separator, RegExp>> = {
  ',': /(?:"([^"]*(?:""[^"]*)*)("|$)|([^",\r]*))(,|$)/y,
  ';': /(?:"([^"]*(?:""[^"]*)*)("|$)|([^";\r]*))(;|$)/y,
  '\t': /(?:"([^"]*(?:""[^"]*)*)("|$)|([^"\t\r]*))(\t|$)/y,
}

/** Whether a carriage return is neither in quotes nor at the end. */
function hasLoneReturn(record: string): boolean {
  return record
    .replace(/\r?\n$/, '')
    .replaceAll(/"[^"]*"?/g, '')
    .includes('\r')
}

/** Returns the fields of a record, or undefined if its quotes or a carriage return are misplaced. */
function parseRecord(text: string, separator: Separator): string[] | 'unclosed' | undefined {
  const record = text.replace(/\r?\n$/, '')
  const pattern = FIELDS[separator]
  const fields: string[] = []
  pattern.lastIndex = 0
  for (;;) {
    const match = pattern.exec(record)
    if (match === null) return undefined
    const [, quoted, closingQuote, plain = '', end] = match
    if (closingQuote === '') return 'unclosed'
    fields.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end === '') return fields
  }
}

function append(unclosed: Lines, line: Lines): Lines {
  const { firstLine } = unclosed
  const text = unclosed.text + line.text
  if (text.length > MAX_ENTRY_BYTES) throw new InvalidFile(`Line ${firstLine}: ${UNCLOSED}`)
  return { firstLine, lastLine: line.lastLine, text, isUtf8: unclosed.isUtf8 && line.isUtf8 }
}

function toEntry(
  { firstLine, lastLine, text, isUtf8 }: Lines,
  fields: string[] | undefined,
  header: CsvHeader,
): Entry {
  function row(): Row {
    if (!isUtf8) throw new InvalidEntry(NOT_UTF8)
    if (fields === undefined) throw new InvalidEntry(hasLoneReturn(text) ? LONE_RETURN : MALFORMED_CSV)
    return parseFields(fields, header)
  }
  return { firstLine, lastLine, row }
}

function parseFields(fields: readonly string[], { count, positions }: CsvHeader): Row {
  if (fields.length !== count)
    throw new InvalidEntry(`the line must have ${count} fields, not ${fields.length}.`)
  const members: Record<string, unknown> = {}
  for (const [member, at] of positions) members[member] = parseField(member, fields[at] ?? '')

  function show(member: string): string {
    const at = positions.find(([name]) => name === member)?.[1] ?? -1
    const text = fields[at] ?? ''
    const isMisspelt = INTEGERS.includes(member) && /\d/.test(text) && !/^-?[1-9]\d*$/.test(text)
    return JSON.stringify(shorten(text)) + (isMisspelt ? NOT_PLAIN_DIGITS : '')
  }
  return { isCsv: true, members, show }
}

function parseField(member: string, text: string): unknown {
  if (member === 'name') return text
  return (INTEGERS.includes(member) ? canonicalInteger(text) : undefined) ?? (text || undefined)
}

const INTEGERS = ['id', 'categoryId']

/** A spreadsheet may have changed the number. */
const NOT_PLAIN_DIGITS =
  ', which is not in plain digits: in a spreadsheet, format the column as a whole number'
