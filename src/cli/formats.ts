// Animals as lines of text: JSON Lines and CSV, each read and written without loss.

import { isUtf8 } from 'node:buffer'
import { type Animal, type NewAnimal, parseNewAnimal, renderAnimal } from '../animal.ts'
import { invalid } from '../error.ts'
import { exactInteger, parseJson } from '../json.ts'
import type { FormatName } from '../setting-values.ts'

/** What one line or, in CSV, several lines hold. */
export interface Entry {
  /** The number of its first line. */
  readonly line: number
  /** Throws `invalid_request` where it is no animal. */
  animal(): NewAnimal
}

export interface Reader {
  /** Takes one line after the other; returns an entry once it is whole. Throws `invalid_request` for a wrong head. */
  read(line: Buffer, number: number): Entry | undefined
  /** What is still open when there are no more lines. */
  end(): Entry | undefined
}

export interface Format {
  readonly head: string
  readonly render: (animal: Animal) => string
  readonly reader: () => Reader
}

/** Far more than an animal takes. A quote that is never closed would else swallow the rest of the file. */
export const MAX_ENTRY_BYTES = 256 * 1024

const QUOTE = 0x22

export const FORMATS: Readonly<Record<FormatName, Format>> = {
  jsonl: { head: '', render: animal => `${renderAnimal(animal)}\n`, reader: readJsonLines },
  csv: { head: 'id,name,categoryId,status\n', render: renderCsv, reader: readCsv },
}

function readJsonLines(): Reader {
  return {
    read(line, number) {
      return isBlank(line)
        ? undefined
        : { line: number, animal: () => parseNewAnimal(parseLine(textOf(line))) }
    },
    end: () => undefined,
  }
}

function textOf(bytes: Buffer): string {
  if (bytes.length >= MAX_ENTRY_BYTES)
    throw invalid('this is too long for an animal, or a quote is never closed.')
  if (!isUtf8(bytes)) throw invalid('the line must be UTF-8.')
  return bytes.toString()
}

function parseLine(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    throw invalid('the line must be a JSON object.')
  }
}

function renderCsv({ id, name, categoryId, status }: Animal): string {
  const quoted = /[",\r\n]|^\s|\s$/.test(name) ? `"${name.replaceAll('"', '""')}"` : name
  return `${id},${quoted},${categoryId},${status ?? ''}\n`
}

/** RFC 4180. The first line names the columns, in any order; those that are no member of an animal are left out. */
function readCsv(): Reader {
  let columns: string[] | undefined
  let parts: Buffer[] = []
  let first = 0
  let bytes = 0
  let quotes = 0

  function take(): Entry | undefined {
    const whole = Buffer.concat(parts)
    const record = whole.at(-1) === CARRIAGE_RETURN ? whole.subarray(0, -1) : whole
    parts = []
    bytes = 0
    quotes = 0
    if (columns === undefined) {
      columns = parseHead(record)
      return undefined
    }
    const names = columns
    return { line: first, animal: () => parseNewAnimal(toObject(names, splitCsv(record))) }
  }

  return {
    read(line, number) {
      if (parts.length > 0) parts.push(LINE_FEED)
      else if (isBlank(line)) return undefined
      else first = number
      parts.push(line)
      bytes += line.length + 1
      // Quotes come in pairs, those inside a field too: while their number is odd, a field goes on in the next line.
      quotes += countQuotes(line)
      return quotes % 2 === 1 && bytes < MAX_ENTRY_BYTES ? undefined : take()
    },
    end: () => (parts.length > 0 ? take() : undefined),
  }
}

const LINE_FEED = Buffer.from('\n')
const CARRIAGE_RETURN = 0x0d

function parseHead(line: Buffer): string[] {
  const columns = splitCsv(line)
  for (const needed of ['name', 'categoryId']) {
    if (columns.filter(column => column === needed).length !== 1) {
      throw invalid(`the first line must name the columns, ${needed} once among them.`)
    }
  }
  return columns
}

function countQuotes(line: Buffer): number {
  let count = 0
  for (let at = line.indexOf(QUOTE); at !== -1; at = line.indexOf(QUOTE, at + 1)) count++
  return count
}

const FIELD = /(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))(?=,|$)/gy

function splitCsv(line: Buffer): string[] {
  const text = textOf(line)
  const fields: string[] = []
  let end = 0
  for (const match of text.matchAll(FIELD)) {
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '')
    end = match.index + match[0].length
  }
  if (end !== text.length) throw invalid('the line must be well-formed CSV, with quotes in pairs.')
  return fields
}

function toObject(columns: readonly string[], fields: readonly string[]): Record<string, unknown> {
  if (fields.length !== columns.length) {
    throw invalid(`the line must have ${columns.length} fields, not ${fields.length}.`)
  }
  const field = (name: string) => fields[columns.indexOf(name)]
  return {
    name: field('name'),
    categoryId: exactInteger(field('categoryId') ?? ''),
    // An empty field is an animal without a status.
    status: field('status') || undefined,
  }
}

function isBlank(line: Buffer): boolean {
  return line.every(byte => byte === 0x20 || byte === 0x09 || byte === CARRIAGE_RETURN)
}
