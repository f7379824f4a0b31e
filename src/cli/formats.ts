// The formats of import and export. Each can be imported again: as new animals, which get new ids, or as changes.

import type { Animal } from '../animal.ts'
import { renderAnimal } from '../animal-json.ts'
import { CSV_COLUMNS, quoteField, renderCsvLine, type Separator, spreadsheetSafe } from '../csv.ts'
import { renderTag, tagOf } from '../etag.ts'
import { redact } from './messages.ts'

export const FORMAT_NAMES = ['jsonl', 'csv', 'tsv'] as const
export type FormatName = (typeof FORMAT_NAMES)[number]

/** The endings of file names. */
const ENDINGS: Readonly<Record<string, FormatName>> = {
  csv: 'csv',
  tsv: 'tsv',
  jsonl: 'jsonl',
  ndjson: 'jsonl',
}

/** What to do with files of other programs. */
const CONVERSION_HINTS: Readonly<Record<string, string>> = {
  xlsx: 'save the sheet as CSV in UTF-8',
  xls: 'save the sheet as CSV in UTF-8',
  ods: 'save the sheet as CSV in UTF-8',
  json: "write one object per line, for example with jq --compact-output '.[]'",
  gz: 'unpack it first, for example with gunzip',
  zip: 'unpack it first',
}

/** Returns what is wrong with the name of a file, or with the format that was given for it. */
export function findFormatProblems(file: string, given: FormatName | undefined): string[] {
  const ending = endingOf(file)
  if (ending === undefined) return []
  const format = ENDINGS[ending]
  if (format === undefined) {
    const endings = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(
      Object.keys(ENDINGS).map(ending => `.${ending}`),
    )
    const wayOut = CONVERSION_HINTS[ending] === undefined ? '' : `; ${CONVERSION_HINTS[ending]}`
    return [`${redact(file)} must end in ${endings}: no other format is supported${wayOut}`]
  }
  return given === undefined || given === format
    ? []
    : [`--format ${given} contradicts the ending of ${redact(file)}`]
}

/** Returns the format that the name of a file stands for, or undefined for a name without an ending. */
export function formatOf(file: string): FormatName | undefined {
  return ENDINGS[endingOf(file) ?? '']
}

function endingOf(file: string): string | undefined {
  return /[^/\\]\.([^./\\]+)$/.exec(file.toLowerCase())?.[1]
}

export interface Renderer {
  readonly header: string
  readonly render: (animal: Animal) => string
}

interface RenderOptions {
  readonly isSpreadsheetSafe: boolean
  /** Adds the tag of each animal. */
  readonly hasTags: boolean
}

export function createRenderer(format: FormatName, { isSpreadsheetSafe, hasTags }: RenderOptions): Renderer {
  const tag = (animal: Animal) => renderTag(tagOf(renderAnimal(animal)))
  if (format === 'jsonl') {
    const ending = (animal: Animal) => (hasTags ? `,"etag":${JSON.stringify(tag(animal))}}` : '}')
    return { header: '', render: animal => `${renderAnimal(animal).slice(0, -1)}${ending(animal)}\n` }
  }
  const separator: Separator = format === 'tsv' ? '\t' : ','
  const exportedName = isSpreadsheetSafe ? spreadsheetSafe : (name: string) => name
  const ending = (animal: Animal) => (hasTags ? `${separator}${quoteField(tag(animal))}` : '')
  const columns = [...CSV_COLUMNS, ...(hasTags ? ['etag'] : [])]
  return {
    // The byte order mark tells spreadsheets that the file is UTF-8.
    header: `${isSpreadsheetSafe ? '\ufeff' : ''}${columns.join(separator)}\n`,
    render(animal) {
      const line = renderCsvLine({ ...animal, name: exportedName(animal.name) }, separator)
      return `${line}${ending(animal)}\n`
    },
  }
}
