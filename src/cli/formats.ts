// The formats of import and export. Each can read what it writes, without loss.

import type { Animal } from '../animal.ts'
import { CSV_HEADER, csvReader, renderCsvLine } from './csv.ts'
import type { Reader } from './entry.ts'
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

/** Chooses the format by the name of a file. */
export function formatOf(file: string): FormatName {
  return file.toLowerCase().endsWith('.csv') ? 'csv' : 'jsonl'
}
