// The formats of import and export. Each can read what it writes. Only the ids are lost: an import assigns new ones.

import type { Animal } from '../animal.ts'
import { CSV_HEADER, csvReader, renderCsvLine } from './csv.ts'
import type { Reader } from './import-entry.ts'
import { jsonLinesReader, renderJsonLine } from './json-lines.ts'
import type { FormatName } from './setting-values.ts'

export interface Format {
  readonly header: string
  readonly render: (animal: Animal) => string
  /** Skips the lines before `fromLine`, except a header. */
  readonly reader: (fromLine: number) => Reader
}

export const FORMATS: Readonly<Record<FormatName, Format>> = {
  jsonl: { header: '', render: renderJsonLine, reader: jsonLinesReader },
  csv: { header: CSV_HEADER, render: renderCsvLine, reader: csvReader },
}

/** Chooses the format of an export by the name of its file. */
export function formatOf(file: string): FormatName {
  return formatByName(file) ?? 'jsonl'
}

/** Chooses the format of an import by the name of its file, otherwise by its first character that is not white space. */
export function formatOfSource(file: string, start: Buffer): FormatName {
  const isJson = /^(?:\ufeff)?\s*[{[]/.test(start.toString())
  return formatByName(file) ?? (isJson || start.length === 0 ? 'jsonl' : 'csv')
}

function formatByName(file: string): FormatName | undefined {
  const ending = /\.(\w+)$/.exec(file.toLowerCase())?.[1] ?? ''
  if (['csv', 'tsv'].includes(ending)) return 'csv'
  return ['jsonl', 'ndjson', 'json'].includes(ending) ? 'jsonl' : undefined
}
