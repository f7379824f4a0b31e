// A file that gets its name only when it is complete, and never replaces another file.

import { randomBytes } from 'node:crypto'
import { closeSync, linkSync, mkdtempSync, openSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** Only the owner may read the file: it contains the catalogue, or the digests of the keys. */
export const PRIVATE_FILE = 0o600

const WITHOUT_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])

/** Returns a random name for the file until it is complete. */
export function unfinishedName(file: string): string {
  return `${file}.${randomBytes(8).toString('hex')}.unfinished`
}

/**
 * Runs `work` with the name of a new file, in a folder beside `file` that only this user may enter. SQLite reads whatever it
 * finds beside a database, so a database of ours must not be where others can put files. Deletes the folder afterwards.
 */
export async function inPrivateFolder<Result>(
  file: string,
  work: (copy: string) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(`${resolve(file)}.unfinished-`)
  try {
    return await work(join(folder, 'copy'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Gives the complete file its name. Fails with EEXIST if another file has got that name meanwhile. */
export function publish(unfinished: string, file: string): void {
  try {
    // A rename would replace another file. A link never does.
    linkSync(unfinished, file)
  } catch (error) {
    if (!isLinkUnsupported(error)) throw error
    // Takes the name first, so that the rename replaces nothing but this empty file.
    closeSync(openSync(file, 'wx', PRIVATE_FILE))
    renameSync(unfinished, file)
    return
  }
  rmSync(unfinished)
}

/** Whether a link failed because the file system has none, such as FAT and some network file systems. */
export function isLinkUnsupported(error: unknown): boolean {
  return WITHOUT_LINKS.has(String((error as NodeJS.ErrnoException).code))
}
