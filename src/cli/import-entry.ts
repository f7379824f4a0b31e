// An entry of an imported file, in any format. It contains one animal.

import { isUtf8 } from 'node:buffer'
import type { NewAnimal } from '../animal.ts'
import { invalid } from '../error.ts'
import { type Lines, MAX_ENTRY_BYTES } from './import-lines.ts'

/** One line or, in CSV, several lines. */
export interface Entry {
  readonly firstLine: number
  readonly lastLine: number
  /** Throws `invalid_request` if the entry is not a valid animal. */
  animal(): NewAnimal
}

/** Takes the complete entries from `lines`. Throws `invalid_request` for a wrong header. */
export type Reader = (lines: Lines) => Iterable<Entry>

/** Throws `invalid_request` if an entry is too long or is not UTF-8. */
export function checkBytes(bytes: Buffer): void {
  if (bytes.length >= MAX_ENTRY_BYTES)
    throw invalid(`the entry must be shorter than ${MAX_ENTRY_BYTES / 1024} KiB.`)
  if (!isUtf8(bytes))
    throw invalid('the line must be UTF-8; spreadsheets call that format "CSV UTF-8" or "Unicode (UTF-8)".')
}

export function isBlank(bytes: Buffer): boolean {
  return bytes.every(byte => byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === 0x0a)
}
