// Animals as lines of text: JSON Lines and CSV, each read and written without loss.

import { isUtf8 } from 'node:buffer'
import { type Animal, type NewAnimal, parseAnimalJson, parseNewAnimal, renderAnimal } from '../animal.ts'
import { invalid } from '../error.ts'
import { exactInteger } from '../json.ts'
import type { FormatName } from './setting-values.ts'

/** What one line or, in CSV, several lines hold. */
export interface Entry {
  readonly firstLine: number
  readonly lastLine: number
  /** Throws `invalid_request` where it is no animal. */
  animal(): NewAnimal
}

export interface Reader {
  /** Whether the line that names the columns is still to come. */
  needsHead(): boolean
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
const COMMA = 0x2c

/** As JSON has it: no sign in front but a minus, no leading zero. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

export const FORMATS: Readonly<Record<FormatName, Format>> = {
  jsonl: { head: '', render: animal => `${renderAnimal(animal)}\n`, reader: readJsonLines },
  csv: { head: 'id,name,categoryId,status\n', render: renderCsv, reader: readCsv },
}

/** By the name of a file. */
export function formatOf(file: string): FormatName {
  return file.toLowerCase().endsWith('.csv') ? 'csv' : 'jsonl'
}

function readJsonLines(): Reader {
  return {
    read(line, number) {
      if (isBlank(line)) return undefined
      const animal = () => parseNewAnimal(parseLine(textOf(line)))
      return { firstLine: number, lastLine: number, animal }
    },
    end: () => undefined,
    needsHead: () => false,
  }
}

function textOf(bytes: Buffer): string {
  if (bytes.length >= MAX_ENTRY_BYTES)
    throw invalid(`this has more than ${MAX_ENTRY_BYTES / 1024} KiB, too much for an animal.`)
  if (!isUtf8(bytes)) throw invalid('the line must be UTF-8.')
  return bytes.toString()
}

function parseLine(text: string): unknown {
  try {
    return parseAnimalJson(text)
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
  let firstLine = 0
  let lastLine = 0
  let bytes = 0
  let isQuoted = false

  function take(): Entry | undefined {
    const whole = Buffer.concat(parts)
    const record = whole.at(-1) === CARRIAGE_RETURN ? whole.subarray(0, -1) : whole
    parts = []
    bytes = 0
    isQuoted = false
    if (columns === undefined) {
      columns = parseHead(record)
      return undefined
    }
    const names = columns
    return { firstLine, lastLine, animal: () => parseNewAnimal(toObject(names, splitCsv(record))) }
  }

  return {
    read(line, number) {
      if (parts.length > 0) parts.push(LINE_FEED)
      else if (isBlank(line)) return undefined
      else firstLine = number
      lastLine = number
      parts.push(line)
      bytes += line.length + 1
      isQuoted = endsQuoted(line, isQuoted)
      return isQuoted && bytes < MAX_ENTRY_BYTES ? undefined : take()
    },
    end: () => (parts.length > 0 ? take() : undefined),
    needsHead: () => columns === undefined,
  }
}

const LINE_FEED = Buffer.from('\n')
const CARRIAGE_RETURN = 0x0d

function parseHead(line: Buffer): string[] {
  const columns = splitCsv(line)
  const times = (name: string) => columns.filter(column => column === name).length
  if (times('name') !== 1 || times('categoryId') !== 1 || times('status') > 1) {
    throw invalid(
      'the first line must name the columns, name and categoryId once among them, status at most once.',
    )
  }
  return columns
}

/** Whether a quoted field goes on in the next line. Only at its start does a quote open a field. */
function endsQuoted(line: Buffer, startsQuoted: boolean): boolean {
  if (!line.includes(QUOTE)) return startsQuoted
  let state = (startsQuoted ? 'quoted' : 'start') as 'start' | 'plain' | 'quoted' | 'closed'
  for (const byte of line) {
    if (state === 'quoted') state = byte === QUOTE ? 'closed' : 'quoted'
    else if (byte === COMMA) state = 'start'
    // Right after a closing quote another one means a quote within the field.
    else state = byte === QUOTE && state !== 'plain' ? 'quoted' : 'plain'
  }
  return state === 'quoted'
}

const FIELD = /"((?:[^"]|"")*)"|[^",]*/y

function splitCsv(line: Buffer): string[] {
  const text = textOf(line)
  const fields: string[] = []
  for (let at = 0; at <= text.length; at++) {
    FIELD.lastIndex = at
    const [field = '', quoted] = FIELD.exec(text) ?? []
    at += field.length
    if (at < text.length && text[at] !== ',')
      throw invalid('the line must be well-formed CSV, with quotes in pairs.')
    fields.push(quoted?.replaceAll('""', '"') ?? field)
  }
  return fields
}

function toObject(columns: readonly string[], fields: readonly string[]): Record<string, unknown> {
  if (fields.length !== columns.length) {
    throw invalid(`the line must have ${columns.length} fields, not ${fields.length}.`)
  }
  const field = (name: string) => fields[columns.indexOf(name)]
  const number = field('categoryId') ?? ''
  return {
    name: field('name'),
    categoryId: NUMBER.test(number) ? exactInteger(number) : undefined,
    // An empty field is an animal without a status.
    status: field('status') || undefined,
  }
}

function isBlank(line: Buffer): boolean {
  return line.every(byte => byte === 0x20 || byte === 0x09 || byte === CARRIAGE_RETURN)
}
