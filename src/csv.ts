// Animals as CSV, for `animal-store export` and for the download of the catalogue page.

import type { Animal } from './animal.ts'

export type Separator = ',' | ';' | '\t'

export const CSV_COLUMNS = ['id', 'name', 'categoryId', 'status'] as const

/** Returns a line without its line break. */
export function renderCsvLine({ id, name, categoryId, status }: Animal, separator: Separator = ','): string {
  const isQuoted = /["\r\n]|^\s|\s$/.test(name) || name.includes(separator)
  const field = isQuoted ? quoteField(name) : name
  return [id, field, categoryId, status ?? ''].join(separator)
}

export function quoteField(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}

/**
 * What a spreadsheet runs as a formula: a field that starts with one of these characters, in normal or full width, perhaps
 * after white space. A field may also start within the name, if the spreadsheet splits it there: then the apostrophe protects the
 * first part, and nothing can protect the others.
 */
const FORMULA = /(?:^|[,;\t\r\n])\s*[=+\-@＝＋－＠]/

/** Returns the name with a leading apostrophe if a spreadsheet would run it as a formula. It shows such a name as text. */
export function spreadsheetSafe(name: string): string {
  return FORMULA.test(name) ? `'${name}` : name
}
