// Renders animals as CSV for a spreadsheet. Names are protected as in `animal-store export --spreadsheet-safe`.

import type { Animal } from '../../../client/src/animal-store.ts'

/** The byte order mark tells spreadsheets that the file is UTF-8. */
export const CSV_HEADER = '\ufeffid,name,categoryId,status\r\n'

/** A spreadsheet runs a cell that starts like this as a formula. */
const FORMULA = /^[=+\-@\t\r]/

export function renderCsvLine({ id, name, categoryId, status }: Animal): string {
  return `${id},${renderText(name)},${categoryId},${status ?? ''}\r\n`
}

export function isFormula(name: string): boolean {
  return FORMULA.test(name)
}

function renderText(name: string): string {
  const safe = isFormula(name) ? `'${name}` : name
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
