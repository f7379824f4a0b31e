// Reads the animals of an imported file, in any format, with their line numbers and in constant memory.

import { isUtf8 } from 'node:buffer'
import { findProblems, type NewAnimal, parseAnimalJson, toNewAnimal } from '../../animal.ts'
import { formatCount } from '../../count.ts'
import { CSV_COLUMNS, type Separator } from '../../csv.ts'
import { canonicalInteger, isObject, parseNumbersAsText } from '../../json.ts'
import type { FormatName } from '../formats.ts'

/** Far more than an animal needs. Without a limit, a quote that is never closed would fill the memory. */
const MAX_ENTRY_BYTES = 256 * 1024

/** What an export has of an animal. */
const MEMBERS: readonly string[] = CSV_COLUMNS

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

  function parseAndAnnounce(line: Lines): NewAnimal {
    const { animal, ignored } = parseJsonLine(line)
    for (const member of ignored) {
      if (ignoredMembers.has(member) || ignoredMembers.size >= MAX_SHOWN_COLUMNS) continue
      ignoredMembers.add(member)
      say(`Ignored member, from line ${line.firstLine} on: ${JSON.stringify(shorten(member))}.`)
    }
    return animal
  }

  for await (const line of readLines(source)) {
    lineCount = line.lastLine
    if (unclosed === undefined && isBlank(line.text)) continue
    isJson ??= /^\s*[{[]/.test(line.text)
    if (isJson) {
      if (lineCount >= fromLine)
        yield { firstLine: lineCount, lastLine: lineCount, animal: () => parseAndAnnounce(line) }
    } else if (header === undefined) {
      const named = SEPARATOR_LINE.exec(line.text)?.[1] as Separator | undefined
      separator ??= named ?? guessSeparator(line.text)
      if (named !== undefined) continue
      header = parseCsvHeader(line, separator)
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

/** Returns the animal, and the names of members that an animal does not have. */
function parseJsonLine({ firstLine, text, isUtf8 }: Lines): { animal: NewAnimal; ignored: string[] } {
  if (!isUtf8) throw new InvalidEntry(NOT_UTF8)
  if (/^\s*\[/.test(text)) {
    throw new InvalidEntry(
      "the file must not be a JSON array: write one animal per line, for example with jq -c '.[]'.",
    )
  }
  let parsed: unknown
  try {
    parsed = parseAnimalJson(text)
  } catch {
    // Reported below.
  }
  if (isObject(parsed)) {
    const members = parsed
    const animal = toAnimal(members, member => shorten(describeMember(members[member], member, text)))
    return { animal, ignored: Object.keys(members).filter(name => !MEMBERS.includes(name)) }
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
    return `${member === 'categoryId' ? 'the string ' : ''}${JSON.stringify(value)}`
  // With the digits that are in the file.
  if (typeof value === 'number') return (parseNumbersAsText(json) as Record<string, string>)[member] ?? ''
  return String(value)
}

/** `show` returns a member as it is in the file. */
function toAnimal(animal: Record<string, unknown>, show: (member: string) => string): NewAnimal {
  const problems = findProblems(animal).map(({ member, problem }) =>
    // The message about null says so itself.
    [undefined, null].includes(animal[member] as null) ? problem : `${problem} (found ${show(member)})`,
  )
  if (problems.length > 0) throw new InvalidEntry(`${problems.join('; ')}.`)
  return toNewAnimal(animal)
}

function shorten(text: string): string {
  const characters = [...text]
  return characters.length > MAX_SHOWN_LENGTH ? `${characters.slice(0, MAX_SHOWN_LENGTH).join('')}…` : text
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
const KNOWN: readonly string[] = [...MEMBERS.map(name => name.toLowerCase()), '']

/** Spreadsheets may write this line before the header. */
const SEPARATOR_LINE = /^"?sep=([,;\t])"?\s*$/i

function guessSeparator(line: string): Separator {
  const count = (separator: Separator) => line.split(separator).length
  const separators: readonly Separator[] = [',', ';', '\t']
  return separators.reduce((best, other) => (count(other) > count(best) ? other : best))
}

/** Takes names in any letter case, with spaces, hyphens and underscores: `Category ID` is `categoryId`. */
function parseCsvHeader({ firstLine, text, isUtf8 }: Lines, separator: Separator): CsvHeader {
  if (!isUtf8) throw new InvalidFile(`Line ${firstLine}: ${NOT_UTF8}`)
  const header = parseRecord(text, separator)
  if (hasLoneReturn(text)) throw new InvalidFile(`Line ${firstLine}: ${LONE_RETURN}`)
  if (!Array.isArray(header)) throw new InvalidFile(`The header is invalid: ${MALFORMED_CSV}`)
  if (separator === '\t' && header.length === 1 && /[,;]/.test(text))
    throw new InvalidFile(
      'The header is invalid: the columns of TSV are separated by tabs. If the file has commas or semicolons, its format is csv: change its ending, or --format.',
    )
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
    ignored: header
      .filter((_, at) => !KNOWN.includes(names[at] ?? ''))
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
  function animal(): NewAnimal {
    if (!isUtf8) throw new InvalidEntry(NOT_UTF8)
    if (fields === undefined) throw new InvalidEntry(hasLoneReturn(text) ? LONE_RETURN : MALFORMED_CSV)
    return parseFields(fields, header)
  }
  return { firstLine, lastLine, animal }
}

function parseFields(fields: readonly string[], header: CsvHeader): NewAnimal {
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
      const isMisspelt = member === 'categoryId' && /\d/.test(text) && !/^-?[1-9]\d*$/.test(text)
      return JSON.stringify(shorten(text)) + (isMisspelt ? NOT_PLAIN_DIGITS : '')
    },
  )
}

/** A spreadsheet may have changed the number. */
const NOT_PLAIN_DIGITS =
  ', which is not in plain digits: in a spreadsheet, format the column as a whole number'
