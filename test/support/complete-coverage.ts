// Deletes the coverage files that killed processes left incomplete: the test runner fails on a file it cannot parse.
// Loaded by `npm run test:all` into every test process.

import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isRunning } from './processes.ts'

const COVERAGE_FILE = /^coverage-(\d+)-\d+-\d+\.json$/

process.on('exit', () => {
  const folder = process.env.NODE_V8_COVERAGE
  if (folder !== undefined) deleteIncomplete(folder)
})

function deleteIncomplete(folder: string): void {
  for (const name of readdirSync(folder)) {
    const pid = Number(COVERAGE_FILE.exec(name)?.[1])
    const path = join(folder, name)
    // A process that still runs may be writing its file.
    if (pid > 0 && !isRunning(pid) && !isComplete(path)) rmSync(path, { force: true })
  }
}

/** A complete file is one JSON object, so it ends with `}`. Parsing every file would take seconds. */
function isComplete(path: string): boolean {
  try {
    return readFileSync(path, 'latin1').endsWith('}')
  } catch {
    // Another test process has deleted it.
    return true
  }
}
